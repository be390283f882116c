#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#pragma GCC visibility push(default)

namespace tilewright {

/// Element types of tensors. Values are part of the C ABI and of stored programs.
enum class DType : std::uint8_t { kF64 = 0, kF32, kF16, kBF16, kI8, kI16, kI32, kI64, kU8, kBool };

/// Bytes of one element.
std::size_t size_bytes(DType dtype) noexcept;

/// Short name: f64 f32 f16 bf16 i8 i16 i32 i64 u8 bool.
std::string_view name(DType dtype) noexcept;

/// The inverse of name(); absent for an unknown word.
std::optional<DType> dtype_from_name(std::string_view name) noexcept;

bool is_floating(DType dtype) noexcept;

}  // namespace tilewright

#pragma GCC visibility pop
