#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tilewright::ir {

/// A name of any bytes as a quoted string of printable ASCII.
std::string quote(std::string_view name);

/// The inverse of quote(), quotes included; absent for an unknown escape.
std::optional<std::string> unquote(std::string_view quoted);

}  // namespace tilewright::ir
