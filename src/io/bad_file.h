#pragma once

#include <string>

namespace tilewright::io {

/// What is wrong with a file's content.
struct BadFile {
  std::string what;
  std::string expected;
  std::string got;
  std::string hint;
};

/// Throws Error{kParse} for `path`.
[[noreturn]] void raise_bad_file(const std::string& path, BadFile fault);

}  // namespace tilewright::io
