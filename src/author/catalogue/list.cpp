#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "author/catalogue/entry.h"
#include "tilewright/error.h"

namespace tilewright {

namespace {

std::vector<CatalogueEntry> all_entries() {
  return {
#define TILEWRIGHT_ENTRY(name) author::name##_entry(),
#include "author/catalogue/entries.def"
#undef TILEWRIGHT_ENTRY
  };
}

/// Insertions, deletions and substitutions between two names.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row.back();
}

std::string nearest_names(std::string_view name) {
  std::vector<std::pair<std::size_t, std::string_view>> ranked;
  for (const CatalogueEntry& entry : catalogue()) {
    const bool inside = entry.name.find(name) != std::string::npos && !name.empty();
    ranked.emplace_back(inside ? 0 : edits(entry.name, name), entry.name);
  }
  std::ranges::sort(ranked);
  std::string names;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, ranked.size()); ++i)
    names += (i == 0 ? "" : ", ") + std::string(ranked[i].second);
  return names;
}

[[noreturn]] void raise_parameter(const CatalogueEntry& entry, const std::string& name,
                                  std::string what, std::string got) {
  std::string known;
  for (const CatalogueParameter& parameter : entry.parameters)
    known += (known.empty() ? "" : ", ") + parameter.name + " (" + parameter.meaning + ")";
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = std::move(what),
               .where = entry.name + ", " + name,
               .expected = known.empty() ? "no parameters" : known,
               .got = std::move(got),
               .hint = {}});
}

void require_known(const CatalogueEntry& entry, const std::string& name, double value) {
  const auto parameter = std::ranges::find(entry.parameters, name, &CatalogueParameter::name);
  if (parameter == entry.parameters.end())
    raise_parameter(entry, name, "the catalogue entry has no such parameter", name);
  constexpr double kMost = 9007199254740992.0;
  if (!parameter->is_float && (std::nearbyint(value) != value || std::fabs(value) > kMost))
    raise_parameter(entry, name, "the parameter is an integer", std::to_string(value));
}

}  // namespace

CatalogueMod CatalogueEntry::make(const Problem& problem, const CatalogueValues& values) const {
  CatalogueValues complete;
  for (const CatalogueParameter& parameter : parameters)
    complete[parameter.name] = parameter.derived ? parameter.derived(problem) : parameter.initial;
  for (const auto& [name, value] : values) {
    require_known(*this, name, value);
    complete[name] = value;
  }
  return build({.values = complete, .parameters = parameters, .problem = problem});
}

std::span<const CatalogueEntry> catalogue() {
  static const std::vector<CatalogueEntry> entries = all_entries();
  return entries;
}

const CatalogueEntry& catalogue_entry(std::string_view name) {
  const auto entries = catalogue();
  const auto found = std::ranges::find(entries, name, &CatalogueEntry::name);
  if (found != entries.end()) return *found;
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = "the catalogue has no entry of this name",
               .where = std::string(name),
               .expected = "for example " + nearest_names(name),
               .got = std::string(name),
               .hint = "docs/catalogue.md lists all " + std::to_string(entries.size()) +
                       "; a mod may also be written as text"});
}

}  // namespace tilewright
