#include "explain_tiles.h"

#include <algorithm>
#include <optional>

#include "analyse/facts.h"
#include "analyse/tile_class.h"
#include "base/formatted.h"
#include "tilewright/mask_map.h"

namespace tilewright::cli {

namespace {

constexpr std::int64_t kTileTokens = 128;
constexpr std::int64_t kTilesLookedAt = 4096;

const char* word(TileClass tile_class) {
  switch (tile_class) {
    case TileClass::kEmpty:
      return "empty";
    case TileClass::kPartial:
      return "partial";
    case TileClass::kFull:
      return "full";
  }
  return "partial";
}

/// The first tile of a class in row-major order among those that are looked at.
std::string first_tile_text(const analyse::TileClassifier& classifier, const Problem& problem,
                            TileClass wanted) {
  const std::int64_t columns = (problem.kv_len + kTileTokens - 1) / kTileTokens;
  const std::int64_t rows = (problem.q_len + kTileTokens - 1) / kTileTokens;
  for (std::int64_t i = 0; i < std::min(rows * columns, kTilesLookedAt); ++i) {
    const std::int64_t q = i / columns * kTileTokens;
    const std::int64_t kv = i % columns * kTileTokens;
    const analyse::TileRange tile{
        .b = 0,
        .h = 0,
        .q = {problem.q_base + q, problem.q_base + std::min(problem.q_len, q + kTileTokens)},
        .kv = {problem.kv_base + kv, problem.kv_base + std::min(problem.kv_len, kv + kTileTokens)}};
    std::string reason;
    if (classifier.classify(tile, reason) != wanted) continue;
    return formatted("  {}: q {}..{}, kv {}..{}: {}\n", word(wanted), tile.q.begin, tile.q.end,
                     tile.kv.begin, tile.kv.end, reason);
  }
  return formatted("  {}: none\n", word(wanted));
}

}  // namespace

std::string tiles_text(const Program& program, const Problem& problem) {
  if (!program.has_mask_mod()) return "tiles:\n  no mask: every tile is full\n";
  const auto facts = analyse::structure_facts(program.structure());
  const MaskMap map =
      MaskMap::build(program, {.batch = facts.mask_depends_on_b ? problem.batch : 1,
                               .heads = facts.mask_depends_on_h ? problem.query_heads : 1,
                               .q_len = problem.q_len,
                               .kv_len = problem.kv_len,
                               .q_base = problem.q_base,
                               .kv_base = problem.kv_base,
                               .q_block = kTileTokens});
  const TileCounts counts = map.count_tiles(map.options().q_block, kTileTokens);
  std::string text =
      formatted("tiles of {0} x {0}: {1} empty, {2} partial, {3} full; {4} spans\n", kTileTokens,
                counts.empty, counts.partial, counts.full, map.span_count());
  const analyse::TileClassifier classifier(program.structure(), program.bindings());
  for (const TileClass wanted : {TileClass::kEmpty, TileClass::kPartial, TileClass::kFull}) {
    text += first_tile_text(classifier, problem, wanted);
  }
  return text;
}

}  // namespace tilewright::cli
