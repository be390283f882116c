#include "support/case_table.h"

#include <array>

namespace tilewright::cases {

namespace {

constexpr std::array kDtypes = {DType::kF32, DType::kBF16, DType::kF16, DType::kF64};

struct Length {
  std::string_view name;
  std::int64_t q_len, kv_len;
};
constexpr std::array kLengths = {
    Length{"odd", 131, 131},   Length{"even", 128, 128}, Length{"wide", 70, 257},
    Length{"tall", 200, 63},   Length{"decode", 1, 301}, Length{"tiny", 3, 2},
    Length{"noqueries", 0, 7}, Length{"nokeys", 5, 0},
};

struct HeadDims {
  std::string_view name;
  std::int64_t head_dim, value_dim;
};
constexpr std::array kDims = {
    HeadDims{"e64v64", 64, 64},   HeadDims{"e128v128", 128, 128}, HeadDims{"e31v17", 31, 17},
    HeadDims{"e1v1", 1, 1},       HeadDims{"e40v96", 40, 96},     HeadDims{"e192v128", 192, 128},
    HeadDims{"e17v512", 17, 512}, HeadDims{"e512v8", 512, 8},
};

struct Group {
  std::string_view name;
  std::int64_t query_heads, kv_heads;
};
constexpr std::array kGroups = {
    Group{"g1", 2, 2}, Group{"g2", 4, 2}, Group{"g3", 3, 1},   Group{"g6", 6, 1},
    Group{"g7", 7, 1}, Group{"g8", 8, 1}, Group{"g16", 16, 1},
};

struct Batch {
  std::string_view name;
  std::int64_t batch, kv_batch;
};
constexpr std::array kBatches = {Batch{"b1", 1, 1}, Batch{"b2", 2, 2}, Batch{"shared", 3, 1},
                                 Batch{"b0", 0, 1}};

struct OutputSet {
  std::string_view name;
  bool lse, max_scores, wide;
};
constexpr std::array kOutputs = {
    OutputSet{"out", false, false, false}, OutputSet{"lse", true, false, false},
    OutputSet{"all", true, true, false}, OutputSet{"partial", true, true, true}};

struct Scale {
  std::string_view name;
  std::optional<double> scale;
};
constexpr std::array kScales = {Scale{"default", std::nullopt}, Scale{"zero", 0.0},
                                Scale{"minus", -0.3}, Scale{"one", 1.0}};

template <class Rows>
std::vector<std::string_view> names_of(const Rows& rows) {
  std::vector<std::string_view> names;
  for (const auto& row : rows) names.push_back(row.name);
  return names;
}

template <class Values>
std::vector<std::string_view> names_by_call(const Values& values) {
  std::vector<std::string_view> names;
  for (const auto value : values) names.push_back(name(value));
  return names;
}

enum FactorIndex : std::size_t {
  kEntry,
  kDtype,
  kLength,
  kDim,
  kGroup,
  kBatch,
  kLayout,
  kOutput,
  kScale
};

}  // namespace

const std::vector<Factor>& factors() {
  static const std::vector<Factor> all = {
      {"entry", names_of(entries())},      {"dtype", names_by_call(kDtypes)},
      {"length", names_of(kLengths)},      {"dims", names_of(kDims)},
      {"group", names_of(kGroups)},        {"batch", names_of(kBatches)},
      {"layout", names_by_call(kLayouts)}, {"outputs", names_of(kOutputs)},
      {"scale", names_of(kScales)},
  };
  return all;
}

CaseSpec spec_of(const Case& problem) {
  const Choice& at = problem.choice();
  const Length& length = kLengths[at[kLength]];
  const HeadDims& dims = kDims[at[kDim]];
  const Group& group = kGroups[at[kGroup]];
  const Batch& batch = kBatches[at[kBatch]];
  const OutputSet& outputs = kOutputs[at[kOutput]];
  CaseSpec spec{.entry = entries()[at[kEntry]],
                .dtype = kDtypes[at[kDtype]],
                .extents = {.batch = batch.batch,
                            .kv_batch = batch.kv_batch,
                            .query_heads = group.query_heads,
                            .kv_heads = group.kv_heads,
                            .q_len = length.q_len,
                            .kv_len = length.kv_len,
                            .head_dim = dims.head_dim,
                            .value_dim = dims.value_dim},
                .layout = kLayouts[at[kLayout]],
                .scale = kScales[at[kScale]].scale,
                .results = {}};
  spec.results = {
      .out_dtype = {}, .lse = outputs.lse, .max_scores = outputs.max_scores, .layout = spec.layout};
  if (outputs.wide) spec.results.out_dtype = spec.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  return spec;
}

}  // namespace tilewright::cases
