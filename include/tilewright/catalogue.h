#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/masks.h"
#include "tilewright/problem.h"
#include "tilewright/program.h"
#include "tilewright/scores.h"
#include "tilewright/table.h"

#pragma GCC visibility push(default)

namespace tilewright {

enum class CatalogueKind : std::uint8_t { kMask, kScore };

/// A parameter of an entry. Integers unless `is_float`.
struct CatalogueParameter {
  std::string name;     ///< the letter of the formula
  double initial = 0;   ///< where nobody gives a value
  std::string meaning;  ///< with its unit
  bool is_float = false;
  /// Where the initial value depends on the problem; then `initial` does not count.
  std::function<double(const Problem&)> derived;
};

/// Values by parameter name; what is left out takes its initial value.
using CatalogueValues = std::map<std::string, double, std::less<>>;

/// An entry made for one problem: one mod, and the tables that it captures. The tables must live
/// as long as programs traced from the mod are called.
struct CatalogueMod {
  MaskMod mask;    ///< empty for a score mod
  ScoreMod score;  ///< empty for a mask mod
  std::vector<Table> tables;

  Program trace() const { return trace_mods(score, mask); }
};

/// What an entry's builder is given: every parameter has a value.
struct CatalogueRequest {
  const CatalogueValues& values;
  std::span<const CatalogueParameter> parameters;
  const Problem& problem;
};

/// One mask or score mod of the catalogue.
struct CatalogueEntry {
  std::string name;
  CatalogueKind kind = CatalogueKind::kMask;
  std::string formula;
  std::string meaning;    ///< one sentence
  std::string reference;  ///< where it comes from
  std::vector<CatalogueParameter> parameters;
  std::function<CatalogueMod(const CatalogueRequest&)> build;

  /// Makes the entry for a problem, tables generated to fit its lengths, heads and batch. Throws
  /// Error naming an unknown parameter, or an integer one that is given a fraction.
  CatalogueMod make(const Problem& problem, const CatalogueValues& values = {}) const;
};

/// Every entry, masks first, in the order of docs/catalogue.md.
std::span<const CatalogueEntry> catalogue();

/// The entry of this name. Throws Error that lists the nearest names.
const CatalogueEntry& catalogue_entry(std::string_view name);

}  // namespace tilewright

#pragma GCC visibility pop
