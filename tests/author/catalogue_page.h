#pragma once

#include <string>

namespace tilewright::tests {

/// The text of docs/catalogue.md, made from the entries themselves.
std::string catalogue_page();

}  // namespace tilewright::tests
