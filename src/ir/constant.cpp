#include "ir/constant.h"

#include <bit>
#include <limits>
#include <optional>

#include "ir/number_text.h"
#include "ir/parse_error.h"

namespace tilewright::ir {

Constant constant_of(const Syntax& syntax, std::string_view source) {
  if (syntax.kind == SyntaxKind::kName && syntax.text == "nan")
    return {.type = Type::kFloat,
            .value = {.real = std::numeric_limits<double>::quiet_NaN(), .integer = 0}};
  const auto raise = [&](const char* what, const char* expected) {
    raise_parse_error(source, syntax.begin, {.what = what, .expected = expected});
  };
  const bool bits = syntax.kind == SyntaxKind::kCall && syntax.text == "float_bits" &&
                    syntax.children.size() == 1;
  const Syntax& literal = bits ? syntax.children[0] : syntax;
  if (literal.kind != SyntaxKind::kNumber) raise("a number is missing here", "a literal number");
  if (literal.number == TokenKind::kReal) {
    const bool infinite = literal.text == "inf";
    const std::optional<double> read = read_real_text(infinite ? "0.0" : literal.text);
    if (!read || bits) raise("a number is out of range", bits ? "64 bits" : "a 64-bit float");
    const double value = infinite ? std::numeric_limits<double>::infinity() : *read;
    return {.type = Type::kFloat,
            .value = {.real = literal.negative ? -value : value, .integer = 0}};
  }
  const std::optional<std::uint64_t> read = read_integer_text(literal.text);
  constexpr std::uint64_t kMost = std::uint64_t{1} << 63;
  if (!read || (bits ? literal.negative : *read >= kMost + (literal.negative ? 1 : 0)))
    raise("a number is out of range", "a signed 64-bit integer");
  if (bits)
    return {.type = Type::kFloat, .value = {.real = std::bit_cast<double>(*read), .integer = 0}};
  const std::uint64_t wrapped = literal.negative ? 0 - *read : *read;
  return {.type = Type::kInt, .value = {.real = 0, .integer = static_cast<std::int64_t>(wrapped)}};
}

}  // namespace tilewright::ir
