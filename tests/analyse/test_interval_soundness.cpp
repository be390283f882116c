#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "analyse/pair_counter.h"
#include "analyse/table_range.h"
#include "analyse/tile_class.h"
#include "analyse/value_ranges.h"
#include "ir/interpret.h"
#include "support/random.h"
#include "support/random_program.h"
#include "tilewright/mask_map.h"

namespace tilewright {
namespace {

constexpr std::int64_t kRows = 40;
constexpr std::int64_t kKeys = 50;

/// Every pair's truth value of one (b, h), from the fp64 meaning.
class Truth {
 public:
  Truth(const cases::RandomProgram& made, std::int64_t b, std::int64_t h) {
    ir::Interpreter interpreter(*made.structure, made.bindings);
    for (std::int64_t q = 0; q < kRows; ++q)
      for (std::int64_t kv = 0; kv < kKeys; ++kv) live_.push_back(interpreter.mask({b, h, q, kv}));
  }

  std::int64_t live(const analyse::TileRange& tile) const {
    std::int64_t count = 0;
    for (std::int64_t q = tile.q.begin; q < tile.q.end; ++q)
      for (std::int64_t kv = tile.kv.begin; kv < tile.kv.end; ++kv)
        count += live_[static_cast<std::size_t>(q * kKeys + kv)] ? 1 : 0;
    return count;
  }

 private:
  std::vector<bool> live_;
};

analyse::TileRange random_tile(cases::Random& random, std::int64_t b, std::int64_t h) {
  const std::int64_t q = random.between(0, kRows - 1);
  const std::int64_t kv = random.between(0, kKeys - 1);
  return {.b = b,
          .h = h,
          .q = {q, random.between(q + 1, kRows)},
          .kv = {kv, random.between(kv + 1, kKeys)}};
}

class RandomMasks : public testing::Test {
 protected:
  static constexpr std::uint64_t kPrograms = 400;

  static cases::RandomProgram make(std::uint64_t seed) {
    cases::RandomProgramOptions options;
    options.score = false;
    options.fp64_captures = seed % 5 == 0;
    options.mask_operations = static_cast<int>(4 + seed % 23);
    return cases::random_program(seed, options);
  }
};

TEST_F(RandomMasks, AreNeverEmptyOrFullWrongly) {
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    const cases::RandomProgram made = make(seed);
    const analyse::TileClassifier classifier(*made.structure, made.bindings);
    cases::Random random(seed);
    const std::int64_t b = random.between(0, 1);
    const std::int64_t h = random.between(0, 2);
    const Truth truth(made, b, h);
    for (int i = 0; i < 12; ++i) {
      const analyse::TileRange tile = random_tile(random, b, h);
      const std::int64_t pairs = tile.q.size() * tile.kv.size();
      const std::int64_t live = truth.live(tile);
      for (const TileClass found : {classifier.classify_once(tile), classifier.classify(tile)}) {
        ASSERT_FALSE(found == TileClass::kEmpty && live != 0) << "seed " << seed;
        ASSERT_FALSE(found == TileClass::kFull && live != pairs) << "seed " << seed;
      }
    }
  }
}

/// Live pairs of one (b, h) inside the spans of a map; a full span must hold nothing else.
std::int64_t live_in_spans(const MaskMap& map, const Truth& truth, std::int64_t b, std::int64_t h) {
  std::int64_t live = 0;
  for (std::int64_t block = 0; block < map.q_blocks(); ++block) {
    const std::int64_t size = map.options().q_block;
    const TokenRange rows{block * size, std::min((block + 1) * size, kRows)};
    for (const Span* span = map.begin(b, h, block); span != map.end(b, h, block); ++span) {
      const analyse::TileRange part{b, h, rows, {span->kv_begin, span->kv_end}};
      if (span->full) {
        EXPECT_EQ(truth.live(part), rows.size() * part.kv.size());
      }
      live += truth.live(part);
    }
  }
  return live;
}

TEST_F(RandomMasks, GiveMapsThatHoldPairByPair) {
  for (std::uint64_t seed = 0; seed < kPrograms; seed += 2) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const cases::RandomProgram made = make(seed);
    const MaskMap map =
        MaskMap::build(made.program(), {.batch = 2,
                                        .heads = 3,
                                        .q_len = kRows,
                                        .kv_len = kKeys,
                                        .q_block = 1 + static_cast<std::int64_t>(seed % 40)});
    std::int64_t live = 0;
    for (std::int64_t head = 0; head < 6; ++head) {
      const Truth truth(made, head / 3, head % 3);
      const std::int64_t all = truth.live({head / 3, head % 3, {0, kRows}, {0, kKeys}});
      ASSERT_EQ(live_in_spans(map, truth, head / 3, head % 3), all);
      live += all;
    }
    ASSERT_EQ(map.live_pairs(), live);
  }
}

/// Whether a range holds the value that the interpreter saw.
bool holds(ir::Type type, const analyse::Interval& range, const ir::NodeValue& value) {
  switch (type) {
    case ir::Type::kFloat:
      return value.real != value.real ? range.real.nan : range.real.contains(value.real);
    case ir::Type::kInt:
      return range.integer.contains(value.integer);
    case ir::Type::kBool:
      break;
  }
  return value.truth ? range.truth.can_be_true : range.truth.can_be_false;
}

TEST(RandomPrograms, NodesStayInsideTheirRanges) {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    cases::RandomProgramOptions options;
    options.fp64_captures = seed % 7 == 0;
    const cases::RandomProgram made = cases::random_program(seed, options);
    const ir::Program& program = *made.structure;
    const auto ranges =
        analyse::value_ranges(program, made.bindings,
                              {.b = {0, 1}, .h = {0, 2}, .q = {0, kRows - 1}, .kv = {0, kKeys - 1}},
                              [&](std::uint32_t capture) {
                                return analyse::table_range(made.bindings.captures[capture]);
                              });
    const std::vector<bool> in_mask = program.reachable_from(*program.roots().mask);
    const std::vector<bool> in_score = program.reachable_from(*program.roots().score);
    ir::Interpreter interpreter(program, made.bindings);
    cases::Random random(seed);
    const auto is_live = [&](ir::NodeId id, bool live) {
      return in_mask[id] || (live && in_score[id]);
    };
    for (int i = 0; i < 40; ++i) {
      const ir::Position at{random.between(0, 1), random.between(0, 2),
                            random.between(0, kRows - 1), random.between(0, kKeys - 1)};
      const bool live = interpreter.mask(at);
      const auto values = interpreter.values(random.normal() * 4, at);
      for (ir::NodeId id = 0; id < program.size(); ++id) {
        ASSERT_TRUE(!is_live(id, live) || holds(program.node(id).type, ranges[id], values[id]))
            << "seed " << seed << " node " << id << " op "
            << (ir::is_leaf(program.node(id).op) ? "leaf"
                                                 : std::string(ir::row(program.node(id).op).id))
            << " value " << values[id].real << " " << values[id].integer << " range ["
            << ranges[id].real.low << ", " << ranges[id].real.high << "]";
      }
    }
  }
}

}  // namespace
}  // namespace tilewright
