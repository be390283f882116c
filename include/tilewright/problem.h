#pragma once

#include <cstdint>
#include <optional>

#include "tilewright/dtype.h"
#include "tilewright/tensor.h"

#pragma GCC visibility push(default)

namespace tilewright {

/// Where one sequence lies, as the device reads it. Mods see logical positions only: q_base + row,
/// kv_base + column.
struct SequenceDescriptor {
  std::int64_t q_begin = 0;  ///< first row of query storage
  std::int64_t q_length = 0;
  std::int64_t q_base = 0;    ///< logical position of the first query row
  std::int64_t kv_begin = 0;  ///< first row of key and value storage
  std::int64_t kv_length = 0;
  std::int64_t kv_base = 0;
};

/// How a logical key position becomes an address. Dense is the constant case of the others.
enum class KvLayout : std::uint8_t { kDense, kPacked, kPaged };

struct KvAddressMap {
  KvLayout layout = KvLayout::kDense;
  std::int64_t page_tokens = 0;  ///< paged: tokens of one page
  TensorView page_table;         ///< paged: int32 [batch, pages]
};

/// Factors that turn stored query, key and value into real numbers (fp8); absent means 1.
struct Descale {
  std::optional<TensorView> query, key, value;
};

/// Which outputs a call writes beside out.
struct Outputs {
  bool lse = false;
  bool max_scores = false;
  bool partial = false;  ///< out in fp32 (fp64 for fp64), to be merged by lse
};

/// Shapes and dtypes of one attention call; no pointers, no strides. Plans and kernels are chosen
/// from it.
struct Problem {
  std::int64_t batch = 1;
  std::int64_t kv_batch = 1;  ///< batch or 1 (semantics R2)
  std::int64_t query_heads = 1;
  std::int64_t kv_heads = 1;  ///< divides query_heads
  std::int64_t q_len = 0;
  std::int64_t kv_len = 0;
  std::int64_t head_dim = 0;   ///< E
  std::int64_t value_dim = 0;  ///< Ev
  DType query_dtype = DType::kF32;
  DType key_dtype = DType::kF32;
  DType value_dtype = DType::kF32;
  DType out_dtype = DType::kF32;
  std::optional<double> scale;  ///< absent: 1/sqrt(head_dim)
  std::int64_t q_base = 0;      ///< logical position of query row 0
  std::int64_t kv_base = 0;
  KvLayout kv_layout = KvLayout::kDense;
  Outputs outputs;
  Device device;

  std::int64_t group() const noexcept { return kv_heads == 0 ? 1 : query_heads / kv_heads; }
  double scale_or_default() const noexcept;
};

}  // namespace tilewright

#pragma GCC visibility pop
