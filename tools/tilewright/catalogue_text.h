#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/text.h"
#include "tilewright/catalogue.h"
#include "tilewright/problem.h"

namespace tilewright::cli {

/// "window" or "window(W=4096, d=2)": an entry of the catalogue with values.
struct CatalogueCall {
  std::string name;
  CatalogueValues values;
};

/// Absent where `text` does not have that form. Throws Error for a value that is no number.
std::optional<CatalogueCall> parse_catalogue_call(const std::string& text);

/// The entry as statements of the text form. Its tables join `declared`, their memory `tables`.
std::string catalogue_text(const CatalogueCall& call, const Problem& problem,
                           ir::Declarations& declared, std::vector<Table>& tables);

}  // namespace tilewright::cli
