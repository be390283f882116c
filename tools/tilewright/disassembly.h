#pragma once

#include <string>

namespace tilewright::cli {

/// A cubin as nvdisasm prints it. Throws Error where that is not on the PATH or refuses.
std::string disassembled(const std::string& cubin);

}  // namespace tilewright::cli
