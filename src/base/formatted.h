#pragma once

#include <fmt/core.h>

#include <string>

namespace tilewright {

/// Text of `pattern` with `arguments`; formatted.cpp alone compiles the library behind it.
std::string formatted_text(fmt::string_view pattern, fmt::format_args arguments);

/// "{}" patterns, checked against the arguments' types when compiled.
template <class... Arguments>
std::string formatted(fmt::format_string<Arguments...> pattern, Arguments&&... arguments) {
  return formatted_text(pattern, fmt::make_format_args(arguments...));
}

}  // namespace tilewright
