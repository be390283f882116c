#include "ir/parse_error.h"

#include <algorithm>

#include "tilewright/error.h"

namespace tilewright::ir {

namespace {

constexpr std::size_t kShownBefore = 60;
constexpr std::size_t kShownBytes = 120;

/// UTF-8 continuation bytes do not count as characters.
bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, starts_character));
}

std::string printable(std::string_view text) {
  std::string shown(text);
  std::ranges::replace_if(
      shown, [](char c) { return static_cast<unsigned char>(c) < 0x20U || c == 0x7f; }, ' ');
  return shown;
}

}  // namespace

void raise_parse_error(std::string_view source, std::size_t begin, const ParseFault& fault) {
  begin = std::min(begin, source.size());
  const std::string_view before = source.substr(0, begin);
  const auto line = 1 + std::ranges::count(before, '\n');
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0: the first line
  const std::size_t line_end = std::min(source.find('\n', begin), source.size());

  std::size_t shown_begin = begin - std::min(begin - line_begin, kShownBefore);
  while (shown_begin < begin && !starts_character(source[shown_begin])) ++shown_begin;
  const std::size_t shown_bytes = std::min(line_end - shown_begin, kShownBytes);
  const std::size_t caret = characters(source.substr(shown_begin, begin - shown_begin));

  throw Error(
      {.code = ErrorCode::kParse,
       .what = fault.what,
       .where = "line " + std::to_string(line) + ", column " +
                std::to_string(1 + characters(source.substr(line_begin, begin - line_begin))),
       .expected = fault.expected,
       .got = "\n    " + printable(source.substr(shown_begin, shown_bytes)) + "\n    " +
              std::string(caret, ' ') + "^",
       .hint = std::string(fault.hint)});
}

}  // namespace tilewright::ir
