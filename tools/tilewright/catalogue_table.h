#pragma once

#include <string>

namespace tilewright::cli {

/// Every mask and score mod of the catalogue with its parameters, as Markdown tables.
std::string catalogue_table();

}  // namespace tilewright::cli
