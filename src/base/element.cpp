#include "base/element.h"

#include <cstring>

#include "base/check.h"
#include "base/half.h"

namespace tilewright {

namespace {

template <class T>
T read(const TensorView& view, std::int64_t offset) {
  T value;
  std::memcpy(&value,
              static_cast<const char*>(view.data) + offset * static_cast<std::int64_t>(sizeof(T)),
              sizeof(T));
  return value;
}

template <class T>
void write(const TensorView& view, std::int64_t offset, T value) {
  std::memcpy(static_cast<char*>(view.data) + offset * static_cast<std::int64_t>(sizeof(T)), &value,
              sizeof(T));
}

}  // namespace

double read_real(const TensorView& view, std::int64_t offset) {
  switch (view.dtype) {
    case DType::kF64:
      return read<double>(view, offset);
    case DType::kF32:
      return read<float>(view, offset);
    case DType::kF16:
      return f16_to_float(read<std::uint16_t>(view, offset));
    case DType::kBF16:
      return bf16_to_float(read<std::uint16_t>(view, offset));
    default:
      return static_cast<double>(read_integer(view, offset));
  }
}

std::int64_t read_integer(const TensorView& view, std::int64_t offset) {
  switch (view.dtype) {
    case DType::kI8:
      return read<std::int8_t>(view, offset);
    case DType::kI16:
      return read<std::int16_t>(view, offset);
    case DType::kI32:
      return read<std::int32_t>(view, offset);
    case DType::kI64:
      return read<std::int64_t>(view, offset);
    case DType::kU8:
      return read<std::uint8_t>(view, offset);
    case DType::kBool:
      return read<std::uint8_t>(view, offset) != 0 ? 1 : 0;
    default:
      break;
  }
  TILEWRIGHT_CHECK(!"read_integer of a floating tensor");
  return 0;
}

void write_real(const TensorView& view, std::int64_t offset, double value) {
  switch (view.dtype) {
    case DType::kF64:
      return write(view, offset, value);
    case DType::kF32:
      return write(view, offset, static_cast<float>(value));
    case DType::kF16:
      return write(view, offset, float_to_f16(static_cast<float>(value)));
    case DType::kBF16:
      return write(view, offset, float_to_bf16(static_cast<float>(value)));
    default:
      break;
  }
  TILEWRIGHT_CHECK(!"write_real to an integer tensor");
}

}  // namespace tilewright
