#include "tilewright/dtype.h"

#include <array>

namespace tilewright {

namespace {

struct Row {
  DType dtype;
  std::string_view name;
  std::size_t size_bytes;
};

constexpr std::array<Row, 10> kRows{{{DType::kF64, "f64", 8},
                                     {DType::kF32, "f32", 4},
                                     {DType::kF16, "f16", 2},
                                     {DType::kBF16, "bf16", 2},
                                     {DType::kI8, "i8", 1},
                                     {DType::kI16, "i16", 2},
                                     {DType::kI32, "i32", 4},
                                     {DType::kI64, "i64", 8},
                                     {DType::kU8, "u8", 1},
                                     {DType::kBool, "bool", 1}}};

}  // namespace

std::size_t size_bytes(DType dtype) noexcept {
  return kRows[static_cast<std::size_t>(dtype)].size_bytes;
}

std::string_view name(DType dtype) noexcept { return kRows[static_cast<std::size_t>(dtype)].name; }

std::optional<DType> dtype_from_name(std::string_view name) noexcept {
  for (const Row& row : kRows)
    if (row.name == name) return row.dtype;
  return std::nullopt;
}

bool is_floating(DType dtype) noexcept { return dtype <= DType::kBF16; }

}  // namespace tilewright
