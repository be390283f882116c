#include "author/catalogue_page.h"

#include <cstdint>

#include "ir/interpret.h"
#include "tilewright/catalogue.h"

namespace tilewright::tests {

namespace {

constexpr std::int64_t kPositions = 96;
constexpr std::int64_t kCell = 4;

Problem drawn_problem() {
  Problem problem;
  problem.query_heads = 8;
  problem.kv_heads = 8;
  problem.q_len = kPositions;
  problem.kv_len = kPositions;
  return problem;
}

char cell(ir::Interpreter& interpreter, std::int64_t row, std::int64_t column) {
  std::int64_t live = 0;
  for (std::int64_t i = 0; i < kCell * kCell; ++i)
    live += interpreter.mask(
                {.b = 0, .h = 0, .q = row * kCell + i / kCell, .kv = column * kCell + i % kCell})
                ? 1
                : 0;
  if (live == 0) return '.';
  return live == kCell * kCell ? '#' : '+';
}

std::string picture(const CatalogueEntry& entry) {
  const CatalogueMod mod = entry.make(drawn_problem());
  const Program program = mod.trace();
  ir::Interpreter interpreter(program.structure(), program.bindings());
  std::string lines = "```\n";
  for (std::int64_t row = 0; row < kPositions / kCell; ++row) {
    for (std::int64_t column = 0; column < kPositions / kCell; ++column)
      lines += cell(interpreter, row, column);
    lines += '\n';
  }
  return lines + "```\n";
}

std::string short_number(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string parameters(const CatalogueEntry& entry) {
  std::string lines;
  for (const CatalogueParameter& parameter : entry.parameters)
    lines += "- `" + parameter.name + "`: " + parameter.meaning + "; " +
             (parameter.derived ? "fits the problem" : short_number(parameter.initial)) +
             " where nothing is given.\n";
  return lines.empty() ? lines : "\n" + lines;
}

std::string section(const CatalogueEntry& entry) {
  std::string text = "\n### " + entry.name + "\n\n`" + entry.formula + "`\n\n" + entry.meaning +
                     " Source: " + entry.reference + ".\n" + parameters(entry);
  if (entry.kind == CatalogueKind::kMask) text += "\n" + picture(entry);
  return text;
}

constexpr const char* kIntroduction = R"(# Catalogue of masks and score mods

Ready mods, by the names that `--mask` and `--score` of the command line and `catalogue_entry()` take.
Each is also a function of `tilewright/masks.h` or `tilewright/scores.h`, and composes there:
`masks::all_of({masks::causal(), masks::documents(ids)})`. This page is generated from the entries;
`tests/author/test_catalogue_page.cpp` says how.

Two rules for counting keys. `window` keeps **W keys, the query's own included**: with W = 1 a query
sees itself alone. `window_inclusive` keeps **w keys before the query and its own, so w + 1**: this is
what FlexAttention examples call a window of w.

A letter that is a number of the program (not all are: some only shape the generated tables) can be
set again by that letter without tracing or compiling anything. Names of tables are the names of
captures, so they can be bound to your own tensors.

Pictures show queries (rows) against keys (columns), 96 positions each with the values named here, 4 x 4 positions a
character: `#` all live, `+` some, `.` none. The approximate tanh of some GPUs is no entry of its own: `softcap` is
exact everywhere, and a kernel may use a faster form only where it is asked to.
)";

}  // namespace

std::string catalogue_page() {
  std::string page = kIntroduction;
  page += "\n## Masks\n";
  for (const CatalogueEntry& entry : catalogue())
    if (entry.kind == CatalogueKind::kMask) page += section(entry);
  page += "\n## Score mods\n";
  for (const CatalogueEntry& entry : catalogue())
    if (entry.kind == CatalogueKind::kScore) page += section(entry);
  return page;
}

}  // namespace tilewright::tests
