#include "backends/reference/backward.h"

#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "backends/contract/key_lengths.h"
#include "backends/reference/capture_sums.h"
#include "backends/reference/dense_rows.h"
#include "base/half.h"
#include "ir/interpret.h"

namespace tilewright::reference {

namespace {

/// One row of the call and what its keys share.
struct Row {
  std::int64_t b = 0;
  std::int64_t h = 0;
  std::int64_t i = 0;
};

/// The backward of one call in arithmetic F.
template <class F>
class DenseBackward {
 public:
  DenseBackward(const BackwardCall& call, const BackwardInputs& inputs,
                const BackwardOutputs& outputs)
      : call_(call),
        problem_(call.problem),
        inputs_(inputs),
        outputs_(outputs),
        interpreter_(call.program, call.bindings),
        derivatives_(*call.derivative.program, call.bindings),
        scale_(static_cast<F>(call.problem.scale_or_default())),
        query_row_(size(problem_.head_dim)),
        d_query_row_(size(problem_.head_dim)),
        out_row_(size(problem_.value_dim)),
        d_out_row_(size(problem_.value_dim)),
        sums_(call.program.captures().size()) {
    for (const auto& [name, gradient] : outputs.captures)
      sums_[slot_of(name)] = CaptureSum(gradient.shape);
  }

  void run() {
    for (std::int64_t kv_b = 0; kv_b < problem_.kv_batch; ++kv_b)
      for (std::int64_t kv_h = 0; kv_h < problem_.kv_heads; ++kv_h) run_kv_head(kv_b, kv_h);
    for (const auto& [name, gradient] : outputs_.captures) sums_[slot_of(name)].store(gradient);
  }

 private:
  static std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

  std::size_t slot_of(const std::string& name) const {
    const auto slots = call_.program.captures();
    std::size_t slot = 0;
    while (slot < slots.size() && slots[slot].name != name) ++slot;
    return slot;
  }

  /// Every query head that reads this key and value head, in the order of b, h and i (R2, R6).
  void run_kv_head(std::int64_t kv_b, std::int64_t kv_h) {
    key_ = read_head<F>(inputs_.key, kv_b, kv_h);
    value_ = read_head<F>(inputs_.value, kv_b, kv_h);
    d_key_.assign(key_.size(), F{0});
    d_value_.assign(value_.size(), F{0});
    const bool shared = problem_.kv_batch == 1;
    const std::int64_t b_begin = shared ? 0 : kv_b;
    const std::int64_t b_end = shared ? problem_.batch : kv_b + 1;
    const std::int64_t group = problem_.group();
    for (std::int64_t b = b_begin; b < b_end; ++b)
      for (std::int64_t h = kv_h * group; h < (kv_h + 1) * group; ++h)
        for (std::int64_t i = 0; i < problem_.q_len; ++i) run_row({b, h, i});
    if (outputs_.d_key) store_head(*outputs_.d_key, kv_b, kv_h, d_key_, scale_);
    if (outputs_.d_value) store_head(*outputs_.d_value, kv_b, kv_h, d_value_, F{1});
  }

  void run_row(const Row& row) {
    d_query_row_.assign(d_query_row_.size(), F{0});
    const F lse =
        static_cast<F>(read_real(inputs_.lse, offset_of<3>(inputs_.lse, {row.b, row.h, row.i})));
    // A row without a live pair contributes nothing, whatever the tensors hold there (R4).
    if (lse != -std::numeric_limits<F>::infinity()) {
      read_row(inputs_.query, {row.b, row.h, row.i}, query_row_.data());
      read_row(inputs_.out, {row.b, row.h, row.i}, out_row_.data());
      read_row(inputs_.d_out, {row.b, row.h, row.i}, d_out_row_.data());
      const F delta = dot(d_out_row_.data(), out_row_.data(), problem_.value_dim) - d_lse(row);
      const std::int64_t keys = backends::key_length(call_.kv_lengths, problem_, row.b);
      for (std::int64_t j = 0; j < keys; ++j) run_pair(row, j, lse, delta);
    }
    if (outputs_.d_query) store_row(*outputs_.d_query, {row.b, row.h, row.i}, d_query_row_.data());
  }

  F d_lse(const Row& row) const {
    if (!inputs_.d_lse) return F{0};
    return static_cast<F>(
        read_real(*inputs_.d_lse, offset_of<3>(*inputs_.d_lse, {row.b, row.h, row.i})));
  }

  void run_pair(const Row& row, std::int64_t j, F lse, F delta) {
    const Listing listing =
        call_.listed ? call_.listed->at(row.b, row.h, row.i, j) : Listing::kPartial;
    if (listing == Listing::kAbsent) return;
    const ir::Position position{row.b, row.h, problem_.q_base + row.i, problem_.kv_base + j};
    if (listing != Listing::kFull && !interpreter_.mask(position)) return;
    const F s =
        scale_ * dot(query_row_.data(), key_.data() + j * problem_.head_dim, problem_.head_dim);
    const F t = modified(s, position);
    if (t == -std::numeric_limits<F>::infinity()) return;
    const F p = std::exp(t - lse);
    const F* const value = value_.data() + j * problem_.value_dim;
    const F d_p = dot(d_out_row_.data(), value, problem_.value_dim);
    add_scaled(rounded(p), d_out_row_, d_value_.data() + j * problem_.value_dim);
    add_score(s, p * (d_p - delta), position, j);
  }

  F modified(F s, const ir::Position& position) {
    if constexpr (std::is_same_v<F, double>)
      return interpreter_.score(s, position);
    else
      return interpreter_.score_f32(s, position);
  }

  const std::vector<double>& derivatives_at(F s, const ir::Position& position) {
    if constexpr (std::is_same_v<F, double>)
      return derivatives_.derivatives(s, position);
    else
      return derivatives_.derivatives_f32(s, position);
  }

  /// dS, and what every captured load gets of dT.
  void add_score(F s, F d_t, const ir::Position& position, std::int64_t j) {
    const std::vector<double>& factors = derivatives_at(s, position);
    std::size_t next = 0;
    if (call_.derivative.d_score) {
      const F d_s = rounded(d_t * static_cast<F>(factors[next++]));
      add_scaled(d_s, query_row_, d_key_.data() + j * problem_.head_dim);
      const F* const key = key_.data() + j * problem_.head_dim;
      for (std::size_t d = 0; d < d_query_row_.size(); ++d) d_query_row_[d] += d_s * key[d];
    }
    for (const ir::LoadDerivative& load : call_.derivative.loads) {
      const double factor = factors[next];
      next += 2;  // the load itself follows its factor
      if (const auto index = derivatives_.subscripts(load.load))
        sums_[load.capture].add(*index, static_cast<double>(d_t * static_cast<F>(factor)));
    }
  }

  static void add_scaled(F factor, const std::vector<F>& row, F* into) {
    for (std::size_t d = 0; d < row.size(); ++d) into[d] += factor * row[d];
  }

  /// Both operands of the products that follow have the input dtype in a plain computation.
  F rounded(F value) const {
    if (call_.arithmetic == Arithmetic::kMeaning) return value;
    switch (problem_.query_dtype) {
      case DType::kF16:
        return f16_to_float(float_to_f16(static_cast<float>(value)));
      case DType::kBF16:
        return bf16_to_float(float_to_bf16(static_cast<float>(value)));
      default:
        return value;
    }
  }

  void store_row(const TensorView& to, const std::array<std::int64_t, 3>& index, const F* row) {
    const std::int64_t begin = offset_of<3>(to, index);
    for (std::int64_t d = 0; d < to.shape[3]; ++d)
      write_real(to, begin + (to.shape[3] == 1 ? 0 : d * to.strides[3]),
                 static_cast<double>(scale_ * row[d]));
  }

  static void store_head(const TensorView& to, std::int64_t b, std::int64_t h,
                         const std::vector<F>& head, F scale) {
    const std::int64_t columns = to.shape[3];
    for (std::int64_t j = 0; j < to.shape[2]; ++j) {
      const std::int64_t begin = offset_of<3>(to, {b, h, j});
      for (std::int64_t d = 0; d < columns; ++d)
        write_real(to, begin + (columns == 1 ? 0 : d * to.strides[3]),
                   static_cast<double>(scale * head[size(j * columns + d)]));
    }
  }

  const BackwardCall& call_;
  const Problem& problem_;
  const BackwardInputs& inputs_;
  const BackwardOutputs& outputs_;
  ir::Interpreter interpreter_;
  ir::Interpreter derivatives_;
  F scale_;
  std::vector<F> key_, value_, d_key_, d_value_, query_row_, d_query_row_, out_row_, d_out_row_;
  std::vector<CaptureSum> sums_;
};

}  // namespace

void backward(const BackwardCall& call, const BackwardInputs& inputs,
              const BackwardOutputs& outputs) {
  const bool plain = call.arithmetic == Arithmetic::kPlain;
  if (plain && call.problem.query_dtype != DType::kF64)
    DenseBackward<float>(call, inputs, outputs).run();
  else
    DenseBackward<double>(call, inputs, outputs).run();
}

}  // namespace tilewright::reference
