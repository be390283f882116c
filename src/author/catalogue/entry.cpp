#include "author/catalogue/entry.h"

#include <algorithm>
#include <cmath>

namespace tilewright::author {

namespace {

/// A fixed sequence with no short period.
std::int64_t scattered(std::int64_t i) { return (i * 2654435761 + (i >> 3) * 40503 + 97) % 1009; }

const CatalogueParameter& parameter_of(const CatalogueRequest& request, std::string_view name) {
  return *std::ranges::find(request.parameters, name, &CatalogueParameter::name);
}

}  // namespace

std::int64_t count(const CatalogueRequest& request, std::string_view parameter) {
  return static_cast<std::int64_t>(request.values.find(parameter)->second);
}

Number number(const CatalogueRequest& request, std::string_view parameter) {
  const double value = request.values.find(parameter)->second;
  const std::string name(parameter);
  if (parameter_of(request, parameter).is_float) return {name, value};
  return {name, static_cast<std::int64_t>(value)};
}

std::int64_t positions(const Problem& problem) {
  return std::max(
      {problem.q_base + problem.q_len, problem.kv_base + problem.kv_len, std::int64_t{1}});
}

std::int64_t grid_edge(const Problem& problem) {
  const std::int64_t needed = positions(problem);
  std::int64_t edge = 1;
  while (edge * edge < needed) ++edge;
  return edge;
}

std::int64_t tiled_grid_edge(const Problem& problem, std::int64_t tile) {
  return (grid_edge(problem) + tile - 1) / tile * tile;
}

CatalogueMod mask_of(MaskMod mod, std::vector<Table> tables) {
  return {.mask = std::move(mod), .score = {}, .tables = std::move(tables)};
}

CatalogueMod score_of(ScoreMod mod, std::vector<Table> tables) {
  return {.mask = {}, .score = std::move(mod), .tables = std::move(tables)};
}

std::vector<std::int64_t> unequal_parts(std::int64_t length, std::int64_t parts) {
  parts = std::max<std::int64_t>(parts, 1);
  std::vector<std::int64_t> ends{0};
  for (std::int64_t part = 1; part < parts; ++part) {
    // Up to 3/8 of a part to either side of an equal division: ends keep their order.
    const std::int64_t eighths = 8 * part + (part * 5) % 7 - 3;
    const double end = static_cast<double>(length) * static_cast<double>(eighths) /
                       (8.0 * static_cast<double>(parts));
    ends.push_back(std::clamp(static_cast<std::int64_t>(end), ends.back(), length));
  }
  ends.push_back(length);
  return ends;
}

Table part_ids(const Problem& problem, std::int64_t parts) {
  return packed_documents(problem, parts).ids;
}

DocumentTables packed_documents(const Problem& problem, std::int64_t documents) {
  return DocumentTables::from_cu_seqlens(unequal_parts(positions(problem), documents));
}

Table sampled(const Dims& shape) {
  Table table(DType::kF32, shape);
  const std::int64_t size = element_count(shape);
  for (std::int64_t i = 0; i < size; ++i)
    table.set(i, static_cast<double>(scattered(i) % 61 - 30) / 64.0);
  return table;
}

Table sampled_truths(const Dims& shape, std::int64_t period) {
  Table table(DType::kBool, shape);
  const std::int64_t size = element_count(shape);
  for (std::int64_t i = 0; i < size; ++i) table.set(i, std::int64_t{scattered(i) % period == 0});
  return table;
}

Table sampled_integers(const Dims& shape, std::int64_t bound) {
  Table table(DType::kI32, shape);
  const std::int64_t size = element_count(shape);
  for (std::int64_t i = 0; i < size; ++i) table.set(i, scattered(i) % bound);
  return table;
}

Table ancestors(std::int64_t n) {
  Table table(DType::kBool, {n, n});
  for (std::int64_t node = 0; node < n; ++node)
    for (std::int64_t above = node + 1; above > 0; above /= 2)
      table.set(node * n + above - 1, std::int64_t{1});
  return table;
}

}  // namespace tilewright::author
