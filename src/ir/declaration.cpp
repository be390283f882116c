#include "ir/declaration.h"

#include <optional>
#include <string>

#include "ir/constant.h"
#include "ir/parse_error.h"
#include "ir/program.h"
#include "ir/quoted_text.h"
#include "ir/syntax.h"

namespace tilewright::ir {

namespace {

/// The name by which the host binds a declared thing: `as "any bytes"`, or the name in the text.
std::string bound_name(Lexer& lexer, const Token& name) {
  if (!lexer.accept("as")) return std::string(name.text);
  const Token quoted = lexer.require(TokenKind::kString, "a quoted name");
  const std::optional<std::string> text = unquote(quoted.text);
  if (text && text->size() <= kMaxNameBytes) return *text;
  raise_parse_error(lexer.source(), quoted.begin,
                    {.what = "a quoted name is malformed or too long",
                     .expected = "printable ASCII and \\xHH, at most " +
                                 std::to_string(kMaxNameBytes) + " bytes"});
}

DType read_dtype(Lexer& lexer) {
  const Token word = lexer.require(TokenKind::kName, "a dtype");
  const std::optional<DType> dtype = dtype_from_name(word.text);
  if (dtype) return *dtype;
  raise_parse_error(lexer.source(), word.begin,
                    {.what = "unknown dtype '" + std::string(word.text) + "'",
                     .expected = "f64 f32 f16 bf16 i8 i16 i32 i64 u8 bool"});
}

std::uint32_t read_rank(Lexer& lexer) {
  if (!lexer.accept("[")) return 0;
  const std::size_t begin = lexer.current().begin;
  const Constant constant = constant_of(read_syntax(lexer), lexer.source());
  constexpr auto kMost = static_cast<std::int64_t>(Dims::kMaxRank);
  const std::int64_t rank = constant.value.integer;
  if (constant.type != Type::kInt || rank < 0 || rank > kMost)
    raise_parse_error(lexer.source(), begin,
                      {.what = "a captured tensor has too many axes, or no number of axes",
                       .expected = "from 0 to " + std::to_string(kMost),
                       .hint = "the number in brackets is the rank, not a shape"});
  lexer.require("]");
  return static_cast<std::uint32_t>(rank);
}

Type read_type(Lexer& lexer) {
  const Token word = lexer.require(TokenKind::kName, "int or float");
  if (word.is("float")) return Type::kFloat;
  if (word.is("int")) return Type::kInt;
  raise_parse_error(lexer.source(), word.begin,
                    {.what = "a number is an int or a float", .expected = "int or float"});
}

}  // namespace

CaptureDeclaration read_capture(Lexer& lexer) {
  CaptureDeclaration read{.name = lexer.require(TokenKind::kName, "a name"), .slot = {}};
  lexer.require(":");
  read.slot.dtype = read_dtype(lexer);
  read.slot.rank = read_rank(lexer);
  read.slot.name = bound_name(lexer, read.name);
  return read;
}

NumberDeclaration read_number(Lexer& lexer) {
  NumberDeclaration read{
      .name = lexer.require(TokenKind::kName, "a name"), .slot = {}, .value = {}};
  lexer.require(":");
  read.slot.type = read_type(lexer);
  lexer.require("=");
  const Syntax syntax = read_syntax(lexer);
  const Constant constant = constant_of(syntax, lexer.source());
  if (constant.type == Type::kFloat && read.slot.type == Type::kInt)
    raise_parse_error(lexer.source(), syntax.begin,
                      {.what = "an int has a float value", .expected = "an integer"});
  read.value = constant.value;
  if (constant.type != read.slot.type)
    read.value = {.real = static_cast<double>(constant.value.integer), .integer = 0};
  read.slot.name = bound_name(lexer, read.name);
  return read;
}

}  // namespace tilewright::ir
