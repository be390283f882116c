#pragma once

#include <string>

namespace tilewright::cli {

/// Every mask and score mod of the catalogue as Markdown; docs/catalogue.md holds it, and a test
/// compares the two.
std::string catalogue_table();

}  // namespace tilewright::cli
