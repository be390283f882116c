#include "ir/number_text.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>

namespace tilewright::ir {

std::string real_text(double value) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  std::string text(buffer.data(), end);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string bits_text(double value) {
  std::array<char, 16> buffer{};
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), bits, 16);
  return "0x" + std::string(buffer.data(), end);
}

std::optional<double> read_real_text(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> read_integer_text(std::string_view text) {
  const bool hexadecimal = text.starts_with("0x");
  if (hexadecimal) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, hexadecimal ? 16 : 10);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace tilewright::ir
