#pragma once

#include <algorithm>
#include <cstdint>

#include "tilewright/problem.h"
#include "tilewright/tensor.h"

namespace tilewright::backends {

/// Keys of a query batch entry: KV without lengths, else lengths[b], where numbers outside 0 to KV
/// count as the nearest of them.
/// @param lengths  null, or i32 [B] in memory of the host
inline std::int64_t key_length(const TensorView* lengths, const Problem& problem, std::int64_t b) {
  if (lengths == nullptr) return problem.kv_len;
  const std::int64_t offset = problem.batch == 1 ? 0 : b * lengths->strides[0];
  const std::int64_t length = static_cast<const std::int32_t*>(lengths->data)[offset];
  return std::clamp<std::int64_t>(length, 0, problem.kv_len);
}

}  // namespace tilewright::backends
