#pragma once

#include <string>
#include <string_view>

namespace tilewright::io {

/// Throws Error{kIo}: "cannot <action>", the path, and what errno said.
[[noreturn]] void raise_system_error(std::string_view action, const std::string& path);

}  // namespace tilewright::io
