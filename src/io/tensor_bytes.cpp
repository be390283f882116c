#include "io/tensor_bytes.h"

namespace tilewright::io {

std::optional<std::int64_t> checked_size_bytes(const Dims& shape, DType dtype) {
  bool has_zero = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    has_zero = has_zero || extent == 0;
  }
  std::int64_t bytes = static_cast<std::int64_t>(size_bytes(dtype));
  for (const std::int64_t extent : shape) {
    if (has_zero) return 0;
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  }
  return bytes;
}

}  // namespace tilewright::io
