#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analyse/mask_map_state.h"
#include "tilewright/mask_map.h"

namespace tilewright::analyse {

/// Neighbouring key tiles of one class, [begin, end) in tiles.
struct TileRun {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool full = false;
};

/// The tiles that are not empty in one row of tiles, ascending.
struct TileRow {
  std::int64_t b = 0;
  std::int64_t h = 0;
  std::int64_t q_tile = 0;
  std::vector<TileRun> runs;
};

/// Throws Error for tiles below 1 token.
void require_tile(std::int64_t q_block, std::int64_t kv_block);

/// Walks the tiles of any size over a map: long full and empty stretches in one step, tiles in
/// between one by one, asking the mask where the map has one.
class TileWalk {
 public:
  explicit TileWalk(const MaskMap::State& state) : state_(state) {}

  /// `q` and `kv` lie inside the lengths.
  TileClass classify(std::int64_t b, std::int64_t h, TokenRange q, TokenRange kv) const;

  /// Every row of tiles of every list that is kept.
  void for_each_row(std::int64_t q_block, std::int64_t kv_block,
                    const std::function<void(const TileRow&)>& visit) const;

 private:
  void fill_row(TileRow& row, TokenRange q, std::int64_t kv_block) const;
  TileClass class_by_spans(std::int64_t list, TokenRange q, TokenRange kv) const;
  TileClass asked_of_mask(const TileRow& row, TokenRange q, TokenRange kv) const;

  const MaskMap::State& state_;
};

}  // namespace tilewright::analyse
