#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "analyse/tile_class.h"
#include "ir/interpret.h"
#include "tilewright/catalogue.h"

namespace tilewright {
namespace {

constexpr std::int64_t kRows = 450;
constexpr std::int64_t kKeys = 480;
constexpr std::int64_t kBatch = 1;  ///< the (b, h) looked at
constexpr std::int64_t kHead = 1;

/// Tiles of these masks are classified exactly (docs/analysis.md).
constexpr std::array kExact = {
    "causal",        "causal_offset",      "window",          "window_inclusive", "prefix_lm",
    "chunked",       "documents",          "document_causal", "packed_causal",    "shared_prefix",
    "global_window", "block_diffusion",    "transfusion",     "padded_keys",      "padded_lengths",
    "jagged",        "prefix_lm_per_batch"};

Problem problem() {
  Problem made;
  made.batch = 2;
  made.query_heads = 2;
  made.kv_heads = 2;
  made.q_len = kRows;
  made.kv_len = kKeys;
  return made;
}

/// Sums of live pairs, so that any tile's count takes four reads.
class LiveCounts {
 public:
  explicit LiveCounts(const Program& program) : sums_((kRows + 1) * (kKeys + 1), 0) {
    ir::Interpreter interpreter(program.structure(), program.bindings());
    for (std::int64_t q = 0; q < kRows; ++q)
      for (std::int64_t kv = 0; kv < kKeys; ++kv)
        at(q + 1, kv + 1) = (interpreter.mask({kBatch, kHead, q, kv}) ? 1 : 0) + at(q, kv + 1) +
                            at(q + 1, kv) - at(q, kv);
  }

  std::int64_t live(const analyse::TileRange& tile) {
    return at(tile.q.end, tile.kv.end) - at(tile.q.begin, tile.kv.end) -
           at(tile.q.end, tile.kv.begin) + at(tile.q.begin, tile.kv.begin);
  }

 private:
  std::int64_t& at(std::int64_t q, std::int64_t kv) {
    return sums_[static_cast<std::size_t>(q * (kKeys + 1) + kv)];
  }
  std::vector<std::int64_t> sums_;
};

struct Tally {
  std::int64_t not_empty = 0;  ///< in truth
  std::int64_t visited = 0;    ///< not classified as empty
  std::int64_t misjudged = 0;  ///< not classified as what they are
};

class TileCatalogue : public testing::TestWithParam<std::string> {};

Tally classify_all(const analyse::TileClassifier& classifier, LiveCounts& truth, TokenRange size) {
  Tally tally;
  for (std::int64_t q = 0; q < kRows; q += size.begin)
    for (std::int64_t kv = 0; kv < kKeys; kv += size.end) {
      const analyse::TileRange tile{kBatch,
                                    kHead,
                                    {q, std::min(q + size.begin, kRows)},
                                    {kv, std::min(kv + size.end, kKeys)}};
      const std::int64_t live = truth.live(tile);
      const std::int64_t pairs = tile.q.size() * tile.kv.size();
      const TileClass right = live == 0       ? TileClass::kEmpty
                              : live == pairs ? TileClass::kFull
                                              : TileClass::kPartial;
      const TileClass found = classifier.classify(tile);
      EXPECT_TRUE(found == right || found == TileClass::kPartial) << q << ", " << kv;
      tally.not_empty += live != 0 ? 1 : 0;
      tally.visited += found != TileClass::kEmpty ? 1 : 0;
      tally.misjudged += found != right ? 1 : 0;
    }
  return tally;
}

TEST_P(TileCatalogue, VisitsFewTilesTooMany) {
  const CatalogueMod mod = catalogue_entry(GetParam()).make(problem());
  const Program program = mod.trace();
  const analyse::TileClassifier classifier(program.structure(), program.bindings());
  LiveCounts truth(program);
  const bool exact = std::ranges::find(kExact, GetParam()) != kExact.end();
  // Rows in begin, keys in end.
  for (const TokenRange size : {TokenRange{16, 16}, TokenRange{64, 64}, TokenRange{128, 128},
                                TokenRange{256, 256}, TokenRange{48, 80}, TokenRange{128, 176}}) {
    const Tally tally = classify_all(classifier, truth, size);
    const std::string name = std::to_string(size.begin) + " x " + std::to_string(size.end);
    if (exact) {
      EXPECT_EQ(tally.misjudged, 0) << name;
    }
    EXPECT_LE(static_cast<double>(tally.visited), 1.25 * static_cast<double>(tally.not_empty))
        << name;
    RecordProperty(name, std::to_string(tally.visited) + " of " + std::to_string(tally.not_empty));
  }
}

std::vector<std::string> mask_names() {
  std::vector<std::string> names;
  for (const CatalogueEntry& entry : catalogue())
    if (entry.kind == CatalogueKind::kMask) names.push_back(entry.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Masks, TileCatalogue, testing::ValuesIn(mask_names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace tilewright
