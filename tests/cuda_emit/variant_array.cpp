#include "cuda_emit/variant_array.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "support/covering_array.h"

namespace tilewright::test {

namespace {

struct Dims2 {
  std::int64_t head_dim, value_dim;
};

/// The values of each property that an array covers.
struct Properties {
  std::vector<std::string> demands;
  std::vector<Dims2> dims;
  std::vector<DType> dtypes;
  std::vector<std::string> programs;
  std::vector<std::string> options;  ///< "-" is none
  std::vector<int> architectures;

  std::vector<std::size_t> sizes() const {
    return {demands.size(),  dims.size(),    dtypes.size(),
            programs.size(), options.size(), architectures.size()};
  }
  VariantLine line(const cases::Choice& choice) const {
    VariantLine line;
    line.demand = demands[choice[0]];
    line.head_dim = dims[choice[1]].head_dim;
    line.value_dim = dims[choice[1]].value_dim;
    line.dtype = dtypes[choice[2]];
    line.program = programs[choice[3]];
    if (options[choice[4]] != "-") line.options.push_back(options[choice[4]]);
    line.architecture = architectures[choice[5]];
    return line;
  }
};

/// One program for each kind of mod: none, row intervals, intervals by number, by table, pairs,
/// affine scores, transcendental ones, tables by key, diagonal and pair.
const std::vector<std::string>& programs() {
  static const std::vector<std::string> kPrograms{"identity",        "causal",         "window",
                                                  "document_causal", "natten_2d",      "alibi",
                                                  "softcap",         "relative_table", "full_bias"};
  return kPrograms;
}

Properties hopper_properties() {
  return {.demands = {"long", "short"},
          .dims = {{64, 64}, {128, 128}, {256, 256}, {192, 128}, {128, 256}, {120, 72}, {8, 136}},
          .dtypes = {DType::kBF16, DType::kF16},
          .programs = programs(),
          .options = {"-", "max", "fast", "wide"},
          .architectures = {90}};
}

/// Rows that take their tiles from span lists.
Properties listed_properties() {
  return {
      .demands = {"listed"},
      .dims = {{64, 64}, {128, 128}, {256, 256}, {192, 128}},
      .dtypes = {DType::kBF16, DType::kF16},
      .programs = {"identity", "causal", "document_causal", "natten_2d", "alibi", "relative_table"},
      .options = {"-", "max", "wide"},
      .architectures = {90}};
}

Properties portable_properties() {
  return {.demands = {"portable", "any_layout", "lists", "decode"},
          .dims = {{64, 64}, {128, 128}, {256, 256}, {512, 512}, {40, 24}, {128, 320}, {80, 96}},
          .dtypes = {DType::kBF16, DType::kF16, DType::kF32},
          .programs = programs(),
          .options = {"-", "max", "wide"},
          .architectures = {80, 89, 90, 100, 103, 120}};
}

using Chooser = std::vector<cases::Choice> (*)(const std::vector<std::size_t>&);

std::vector<VariantLine> lines_of(Chooser choose) {
  std::vector<VariantLine> lines;
  std::set<std::string> seen;
  for (const Properties& properties :
       {hopper_properties(), listed_properties(), portable_properties()})
    for (const cases::Choice& choice : choose(properties.sizes())) {
      const VariantLine line = properties.line(choice);
      if (is_served(line) && seen.insert(line.text()).second) lines.push_back(line);
    }
  return lines;
}

}  // namespace

std::vector<VariantLine> covering_variants() { return lines_of(cases::covering_array); }
std::vector<VariantLine> all_variants() { return lines_of(cases::full_product); }

}  // namespace tilewright::test
