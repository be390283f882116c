#include "tensor_kinds.h"

namespace tilewright::python {

namespace {

struct DlpackKind {
  nb::dlpack::dtype_code code;
  std::uint8_t bits;
  DType dtype;
};

constexpr DlpackKind kDlpackKinds[] = {
    {nb::dlpack::dtype_code::Float, 64, DType::kF64},
    {nb::dlpack::dtype_code::Float, 32, DType::kF32},
    {nb::dlpack::dtype_code::Float, 16, DType::kF16},
    {nb::dlpack::dtype_code::Bfloat, 16, DType::kBF16},
    {nb::dlpack::dtype_code::Int, 8, DType::kI8},
    {nb::dlpack::dtype_code::Int, 16, DType::kI16},
    {nb::dlpack::dtype_code::Int, 32, DType::kI32},
    {nb::dlpack::dtype_code::Int, 64, DType::kI64},
    {nb::dlpack::dtype_code::UInt, 8, DType::kU8},
    {nb::dlpack::dtype_code::Bool, 8, DType::kBool},
};

}  // namespace

std::optional<DType> known_dtype(nb::dlpack::dtype type) noexcept {
  for (const DlpackKind& kind : kDlpackKinds) {
    const bool same = type.code == static_cast<std::uint8_t>(kind.code) && type.bits == kind.bits;
    if (same && type.lanes == 1) return kind.dtype;
  }
  return std::nullopt;
}

std::optional<Device> known_device(int type, int ordinal) noexcept {
  if (type == nb::device::cpu::value || type == nb::device::cuda_host::value) return Device{};
  if (type == nb::device::cuda::value) return Device{.kind = DeviceKind::kCuda, .ordinal = ordinal};
  return std::nullopt;
}

}  // namespace tilewright::python
