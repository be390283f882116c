#include "analyse/exact_map.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "ir/interpret.h"

namespace tilewright {

namespace {

/// Class of each key of one row: the kind of the span that holds it.
std::vector<TileClass> keys_of_row(const MaskMap& map, const ir::Position& row) {
  std::vector<TileClass> keys(static_cast<std::size_t>(map.options().kv_len), TileClass::kEmpty);
  const std::int64_t block = row.q / map.options().q_block;
  std::int64_t last_end = 0;
  for (const Span* span = map.begin(row.b, row.h, block); span != map.end(row.b, row.h, block);
       ++span) {
    EXPECT_LT(span->kv_begin, span->kv_end);
    EXPECT_LE(last_end, span->kv_begin);
    EXPECT_LE(span->kv_end, map.options().kv_len);
    last_end = span->kv_end;
    for (std::int64_t kv = span->kv_begin; kv < span->kv_end; ++kv)
      keys[static_cast<std::size_t>(kv)] = span->full ? TileClass::kFull : TileClass::kPartial;
  }
  return keys;
}

/// Live pairs of one row; counts as failures those that the map gets wrong.
std::int64_t check_row(const MaskMap& map, ir::Interpreter& interpreter, ir::Position row,
                       std::int64_t& wrong) {
  const std::vector<TileClass> keys = keys_of_row(map, row);
  const MaskMapOptions& options = map.options();
  std::int64_t live_pairs = 0;
  row.q += options.q_base;
  for (std::int64_t kv = 0; kv < options.kv_len; ++kv) {
    row.kv = kv + options.kv_base;
    const bool live = interpreter.mask(row);
    const TileClass found = keys[static_cast<std::size_t>(kv)];
    live_pairs += live ? 1 : 0;
    wrong += found == (live ? TileClass::kEmpty : TileClass::kFull) ? 1 : 0;
  }
  return live_pairs;
}

}  // namespace

void expect_holds(const MaskMap& map, const Program& program) {
  const MaskMapOptions& options = map.options();
  ir::Interpreter interpreter(program.structure(), program.bindings());
  std::int64_t live = 0;
  std::int64_t wrong = 0;
  for (std::int64_t b = 0; b < options.batch; ++b)
    for (std::int64_t h = 0; h < options.heads; ++h)
      for (std::int64_t q = 0; q < options.q_len; ++q)
        live += check_row(map, interpreter, {.b = b, .h = h, .q = q, .kv = 0}, wrong);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(map.live_pairs(), live);
  EXPECT_LE(live, map.covered_pairs());
}

void expect_exact(const Program& program, const MaskMapOptions& options) {
  expect_holds(MaskMap::build(program, options), program);
}

}  // namespace tilewright
