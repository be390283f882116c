#pragma once

#include <string>

namespace tilewright::cli {

/// Every kernel row of this library as a Markdown table, the same on every machine; README.md holds
/// it, and a test compares the two.
std::string kernel_matrix();

}  // namespace tilewright::cli
