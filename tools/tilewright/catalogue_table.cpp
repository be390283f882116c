#include "catalogue_table.h"

#include "base/formatted.h"
#include "tilewright/catalogue.h"

namespace tilewright::cli {

namespace {

/// A bar would end the cell of a table.
std::string cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string parameters_text(const CatalogueEntry& entry) {
  std::string text;
  for (const CatalogueParameter& parameter : entry.parameters) {
    const std::string initial =
        parameter.derived ? "from the problem" : formatted("{}", parameter.initial);
    text += formatted("{}{} = {}: {}", text.empty() ? "" : "; ", parameter.name, initial,
                      parameter.meaning);
  }
  return text;
}

std::string rows(CatalogueKind kind) {
  std::string text =
      "| name | formula | meaning | parameters | reference |\n"
      "|---|---|---|---|---|\n";
  for (const CatalogueEntry& entry : catalogue()) {
    if (entry.kind != kind) continue;
    text += formatted("| `{}` | {} | {} | {} | {} |\n", entry.name, cell(entry.formula),
                      cell(entry.meaning), cell(parameters_text(entry)), cell(entry.reference));
  }
  return text;
}

}  // namespace

std::string catalogue_table() {
  return "# Masks\n\n" + rows(CatalogueKind::kMask) + "\n# Scores\n\n" +
         rows(CatalogueKind::kScore);
}

}  // namespace tilewright::cli
