#include "tile_counts.h"

#include <algorithm>

namespace tilewright {

namespace {

/// Walks the sorted spans of one query block and closes tiles as it passes them.
class TileWalk {
 public:
  TileWalk(std::int64_t kv_len, std::int64_t kv_block) : kv_len_(kv_len), kv_block_(kv_block) {}

  void add(std::int64_t begin, std::int64_t end, bool full) {
    std::int64_t tile = begin / kv_block_;
    const std::int64_t last = (end - 1) / kv_block_;
    touch(tile, std::min(end, (tile + 1) * kv_block_) - begin, full);
    if (last == tile) return;
    const std::int64_t between = last - tile - 1;
    if (between > 0) (full ? counts_.full : counts_.partial) += between;
    tile = last;
    touch(tile, end - tile * kv_block_, full);
  }

  TileCounts finish() {
    close();
    counts_.empty = (kv_len_ + kv_block_ - 1) / kv_block_ - counts_.partial - counts_.full;
    return counts_;
  }

 private:
  void touch(std::int64_t tile, std::int64_t tokens, bool full) {
    if (tile != open_) close();
    open_ = tile;
    full_tokens_ += full ? tokens : 0;
  }

  void close() {
    if (open_ < 0) return;
    const std::int64_t tokens = std::min(kv_len_, (open_ + 1) * kv_block_) - open_ * kv_block_;
    (full_tokens_ == tokens ? counts_.full : counts_.partial) += 1;
    open_ = -1;
    full_tokens_ = 0;
  }

  std::int64_t kv_len_;
  std::int64_t kv_block_;
  std::int64_t open_ = -1;
  std::int64_t full_tokens_ = 0;
  TileCounts counts_;
};

}  // namespace

TileCounts count_tiles(const MaskMap& map, std::int64_t kv_block) {
  const MaskMapOptions& options = map.options();
  TileCounts sum;
  for (std::int64_t unit = 0; unit < options.batch * options.heads * map.q_blocks(); ++unit) {
    const std::int64_t row = unit / map.q_blocks();
    const std::int64_t b = row / options.heads;
    const std::int64_t h = row % options.heads;
    const std::int64_t block = unit % map.q_blocks();
    TileWalk walk(options.kv_len, kv_block);
    for (const Span* span = map.begin(b, h, block); span != map.end(b, h, block); ++span) {
      if (span->kv_end > span->kv_begin) walk.add(span->kv_begin, span->kv_end, span->full);
    }
    const TileCounts counts = walk.finish();
    sum.empty += counts.empty;
    sum.partial += counts.partial;
    sum.full += counts.full;
  }
  return sum;
}

}  // namespace tilewright
