#include "backends/cpu/key_walk.h"

#include <algorithm>
#include <limits>

namespace tilewright::cpu {

namespace {

constexpr std::int64_t kNoTile = std::numeric_limits<std::int64_t>::max();

}  // namespace

void KeyWalk::start(const ForwardCall& call, const WorkItem& item, std::int64_t alignment) {
  bands_.clear();
  steps_.clear();
  kv_tile_tokens_ = call.kv_tile_tokens;
  if (call.map == nullptr) {
    append_key_steps(call, item, 0, alignment, steps_);
    bands_.push_back({0, item.rows(), 0, steps_.size()});
  } else {
    for (std::int64_t head = 0; head < item.heads; ++head) add_head(call, item, head, alignment);
  }
  find_tile();
}

void KeyWalk::add_head(const ForwardCall& call, const WorkItem& item, std::int64_t head,
                       std::int64_t alignment) {
  const std::int64_t block = call.map->options().q_block;
  const std::int64_t q_end = item.q_begin + item.q_rows;
  std::size_t shared = 0;  // heads of one item have one map: the first head's bands, in order
  for (std::int64_t q = item.q_begin; q < q_end;) {
    const std::int64_t rows = std::min(block - q % block, q_end - q);
    const std::int64_t row_begin = head * item.q_rows + q - item.q_begin;
    if (head > 0) {
      bands_.push_back({row_begin, rows, bands_[shared].step, bands_[shared].end});
      ++shared;
    } else {
      const std::size_t first = steps_.size();
      append_key_steps(call, item, q / block, alignment, steps_);
      bands_.push_back({row_begin, rows, first, steps_.size()});
    }
    q += rows;
  }
}

std::int64_t KeyWalk::tile_of(const Band& band) const {
  return band.step == band.end ? kNoTile : steps_[band.step].kv_begin / kv_tile_tokens_;
}

bool KeyWalk::find_tile() {
  tile_ = kNoTile;
  for (const Band& band : bands_) tile_ = std::min(tile_, tile_of(band));
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
  next = {first.row_begin, first.rows, steps_[first.step++]};
  for (; band_ < bands_.size(); ++band_) {
    Band& band = bands_[band_];
    if (tile_of(band) != tile_ || steps_[band.step] != next.step) break;
    next.rows += band.rows;
    ++band.step;
  }
  return true;
}

}  // namespace tilewright::cpu
