#include "backends/cpu/key_walk.h"

#include <algorithm>

namespace tilewright::cpu {

namespace {

constexpr std::int64_t kNoTile = -1;

}  // namespace

void KeyWalk::start(const ForwardCall& call, const WorkItem& item, std::int64_t alignment) {
  bands_.clear();
  steps_.clear();
  kv_tile_tokens_ = call.kv_tile_tokens;
  if (call.map == nullptr) {
    append_key_steps(call, item, 0, alignment, steps_);
    bands_.push_back({0, item.rows(), 0, steps_.size()});
  } else {
    list_bands(call, item, alignment);
    if (call.has_mask && !call.lists_rule) join_bands(call, bands_, steps_);
    repeat_bands(item);
  }
  find_tile();
}

/// Of the item's first head.
void KeyWalk::list_bands(const ForwardCall& call, const WorkItem& item, std::int64_t alignment) {
  const std::int64_t block = call.map->options().q_block;
  const std::int64_t q_end = item.q_begin + item.q_rows;
  for (std::int64_t q = item.q_begin; q < q_end;) {
    const std::int64_t rows = std::min(block - q % block, q_end - q);
    const std::size_t first = steps_.size();
    append_key_steps(call, item, q / block, alignment, steps_);
    bands_.push_back({q - item.q_begin, rows, first, steps_.size()});
    q += rows;
  }
}

/// Heads of one item have one map: the other heads' bands are those of the first.
void KeyWalk::repeat_bands(const WorkItem& item) {
  const std::size_t bands = bands_.size();
  for (std::int64_t head = 1; head < item.heads; ++head) {
    for (std::size_t i = 0; i < bands; ++i) {
      Band band = bands_[i];
      band.row_begin += head * item.q_rows;
      bands_.push_back(band);
    }
  }
}

std::int64_t KeyWalk::tile_of(const Band& band) const {
  return band.step == band.end ? kNoTile : steps_[band.end - 1].kv_begin / kv_tile_tokens_;
}

bool KeyWalk::find_tile() {
  tile_ = kNoTile;
  for (const Band& band : bands_) tile_ = std::max(tile_, tile_of(band));
  band_ = 0;
  return tile_ != kNoTile;
}

bool KeyWalk::next(RowStep& next) {
  if (tile_ == kNoTile) return false;
  const auto skip = [this] {
    while (band_ < bands_.size() && tile_of(bands_[band_]) != tile_) ++band_;
  };
  skip();
  if (band_ == bands_.size()) {
    if (!find_tile()) return false;
    skip();
  }
  Band& first = bands_[band_++];
  next = {first.row_begin, first.rows, steps_[--first.end]};
  for (; band_ < bands_.size(); ++band_) {
    Band& band = bands_[band_];
    if (tile_of(band) != tile_ || steps_[band.end - 1] != next.step) break;
    next.rows += band.rows;
    --band.end;
  }
  return true;
}

}  // namespace tilewright::cpu
