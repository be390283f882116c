#include "backends/cuda/emit/literal_text.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>

namespace tilewright::cuda {

namespace {

std::string with_point(std::string digits) {
  const bool is_integral = digits.find_first_of(".e") == std::string::npos;
  return is_integral ? digits + ".0" : digits;
}

}  // namespace

std::string float_text(double value) {
  const auto narrow = static_cast<float>(value);
  if (!std::isfinite(narrow))
    return fmt::format("ptx::float_of({:#x}u)", std::bit_cast<std::uint32_t>(narrow));
  return with_point(fmt::format("{:.9g}", narrow)) + "f";
}

std::string double_text(double value) {
  if (!std::isfinite(value))
    return fmt::format("double(ptx::float_of({:#x}u))",
                       std::bit_cast<std::uint32_t>(static_cast<float>(value)));
  return with_point(fmt::format("{:.17g}", value));
}

std::string int_text(std::int64_t value) {
  if (value == std::numeric_limits<std::int64_t>::min()) return "Int(-9223372036854775807LL - 1)";
  return fmt::format("Int({}{})", value, value == static_cast<std::int32_t>(value) ? "" : "LL");
}

}  // namespace tilewright::cuda
