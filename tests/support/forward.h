#pragma once

#include <functional>
#include <optional>

#include "support/comparison.h"
#include "support/tensor.h"
#include "tilewright/engine.h"

namespace tilewright::cases {

/// query, key and value of one call.
struct Operands {
  Tensor query, key, value;
  ForwardInputs inputs() const { return {query.view(), key.view(), value.view()}; }
};

/// Extents of one call.
struct Extents {
  std::int64_t batch = 1;
  std::int64_t kv_batch = 1;
  std::int64_t query_heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t q_len = 0;
  std::int64_t kv_len = 0;
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;

  Dims query_shape() const { return {batch, query_heads, q_len, head_dim}; }
  Dims key_shape() const { return {kv_batch, kv_heads, kv_len, head_dim}; }
  Dims value_shape() const { return {kv_batch, kv_heads, kv_len, value_dim}; }
  Dims out_shape() const { return {batch, query_heads, q_len, value_dim}; }
  Dims row_shape() const { return {batch, query_heads, q_len}; }
};

/// [batch, heads, length, dim], the usual square call.
Extents square(std::int64_t batch, std::int64_t heads, std::int64_t length, std::int64_t dim);

/// FILL(1), FILL(2), FILL(3).
Operands filled_operands(const Extents& extents, DType dtype = DType::kF32);
/// Standard normal, in one layout.
Operands random_operands(const Extents& extents, DType dtype, std::uint64_t seed,
                         Layout layout = Layout::kContiguous);

/// Poisoned outputs of one call; every one of them, unless told otherwise.
struct Results {
  Tensor out;
  std::optional<Tensor> lse, max_scores;
  ForwardOutputs outputs() const;
  bool padding_intact() const;
};

struct ResultSpec {
  std::optional<DType> out_dtype;  ///< absent: query's
  bool lse = true;
  bool max_scores = true;
  Layout layout = Layout::kContiguous;
};

Results results_for(const ForwardInputs& inputs, const ResultSpec& spec = {});

/// The fp32 problem of these extents.
Problem problem_of(const Extents& extents);
/// The problem of these tensors, read off without checks.
Problem problem_of(const ForwardInputs& inputs, const CallOptions& options = {});

/// What a call means and what plain arithmetic makes of it.
class Reference {
 public:
  Tensor out, lse, max_scores;  ///< fp64

  Reference(const Extents& extents, std::function<Tensor()> plain_arithmetic);
  /// Xref, in query's dtype or the one asked for; computed when first asked for.
  const Tensor& plain_out() const;

 private:
  std::function<Tensor()> plain_arithmetic_;
  mutable std::optional<Tensor> plain_out_;
};

/// Tensors, captures and block lists must live as long as the result.
Reference reference_of(const Program& program, const ForwardInputs& inputs,
                       const CallOptions& options = {}, std::optional<DType> out_dtype = {});

/// compare_out. Xref only widens the bounds, so it is computed only for an output that misses the
/// bounds without it.
Verdict compare_out(const TensorView& out, const Reference& reference, DType dtype);

/// Compares every output that is there. Empty where all pass; else what failed.
std::string mismatch(const Results& results, const Reference& reference, DType dtype);

/// Number of pairs for which mask_mod holds.
std::int64_t live_pairs(const Program& program, const Extents& extents);

}  // namespace tilewright::cases
