#pragma once

#include <string>
#include <string_view>

#include "io/json.h"

namespace tilewright::cli {

/// Writes to standard output; Error{kIo} where that fails (a full disk, a closed pipe).
void print(std::string_view text);
void print_json(const io::Json& value);
/// Writes to standard error.
void print_problem(std::string_view text);

/// "auto" colours a terminal only; "always" and "never" say so.
bool use_colours(const std::string& choice);
bool is_terminal_error();

}  // namespace tilewright::cli
