#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tilewright/catalogue.h"

/// What entries of the catalogue are made with.
namespace tilewright::author {

/// The integer that a parameter holds.
std::int64_t count(const CatalogueRequest& request, std::string_view parameter);
/// A parameter as the number that the mod reads, under its own name.
Number number(const CatalogueRequest& request, std::string_view parameter);

/// Logical positions [0, positions) hold every query and key of the problem; at least 1.
std::int64_t positions(const Problem& problem);
/// The edge of the smallest square grid that holds every position.
std::int64_t grid_edge(const Problem& problem);
/// The same in whole tiles of `tile` positions.
std::int64_t tiled_grid_edge(const Problem& problem, std::int64_t tile);

CatalogueMod mask_of(MaskMod mod, std::vector<Table> tables = {});
CatalogueMod score_of(ScoreMod mod, std::vector<Table> tables = {});

/// Cumulative lengths of `parts` parts of unequal length that cover [0, length).
std::vector<std::int64_t> unequal_parts(std::int64_t length, std::int64_t parts);
/// i32 [positions]: the part of each position.
Table part_ids(const Problem& problem, std::int64_t parts);
DocumentTables packed_documents(const Problem& problem, std::int64_t documents);

/// A floating table of small values with no pattern, exact in every float type.
Table sampled(const Dims& shape);
/// A truth table, true at about one entry in `period`.
Table sampled_truths(const Dims& shape, std::int64_t period);
/// An integer table of values in [0, bound).
Table sampled_integers(const Dims& shape, std::int64_t bound);
/// bool [n, n]: whether column is row or one of its ancestors in a binary tree in level order.
Table ancestors(std::int64_t n);

#define TILEWRIGHT_ENTRY(name) CatalogueEntry name##_entry();
#include "author/catalogue/entries.def"
#undef TILEWRIGHT_ENTRY

}  // namespace tilewright::author
