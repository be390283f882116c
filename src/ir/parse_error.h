#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tilewright::ir {

struct ParseFault {
  std::string what;
  std::string expected = {};
  std::string_view hint = {};
};

/// Throws Error{kParse}: where is "line L, column C" (both from 1, columns in characters), got is
/// the line with a caret under the column.
[[noreturn]] void raise_parse_error(std::string_view source, std::size_t begin,
                                    const ParseFault& fault);

}  // namespace tilewright::ir
