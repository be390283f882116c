#include "backends/cpu/strip_order.h"

#include <algorithm>
#include <map>
#include <thread>

namespace tilewright::cpu {

namespace {

/// A neighbour is rarely more than a tile behind: ask a while before giving the core away.
constexpr int kSpins = 2000;

void wait_until(const std::atomic<std::int64_t>& value, std::int64_t least) {
  for (int spin = 0; value.load(std::memory_order_acquire) < least; ++spin) {
    if (spin > kSpins)
      std::this_thread::yield();
    else
      __builtin_ia32_pause();
  }
}

}  // namespace

StripOrder::StripOrder(const Shape& shape, std::span<const CaptureSharing> captures,
                       bool unit_major)
    : shape_(shape),
      unit_major_(unit_major),
      turns_(captures.size()),
      passed_(std::make_unique<std::atomic<std::int64_t>[]>(static_cast<std::size_t>(count()))) {
  for (std::size_t capture = 0; capture < captures.size(); ++capture) {
    const std::int64_t slots = captures[capture].slots;
    std::map<std::int64_t, std::vector<std::int64_t>> members;
    for (std::int64_t index = 0; index < count(); ++index) {
      std::vector<std::int64_t>& before = members[sharing_class(captures[capture], strip(index))];
      const auto ordinal = static_cast<std::int64_t>(before.size());
      const std::int64_t previous =
          ordinal < slots ? -1 : before[static_cast<std::size_t>(ordinal - slots)];
      turns_[capture].push_back({.slot = ordinal % slots, .previous = previous});
      before.push_back(index);
    }
  }
}

std::int64_t largest_sharing_class(const StripOrder::Shape& shape, const CaptureSharing& sharing) {
  std::int64_t largest = 1;
  if (!sharing.separated_by_keys) largest *= shape.chunks;
  if (!sharing.separated_by_head) largest *= shape.heads;
  if (!sharing.separated_by_batch) largest *= (shape.units + shape.heads - 1) / shape.heads;
  return std::max<std::int64_t>(largest, 1);
}

std::int64_t StripOrder::sharing_class(const CaptureSharing& sharing, const Strip& strip) const {
  const std::int64_t unit = shape_.first_unit + strip.unit;
  std::int64_t key = sharing.separated_by_keys ? strip.chunk : 0;
  key = key * shape_.heads + (sharing.separated_by_head ? unit % shape_.heads : 0);
  const std::int64_t batches = (shape_.first_unit + shape_.units) / shape_.heads + 1;
  return key * batches + (sharing.separated_by_batch ? unit / shape_.heads : 0);
}

std::int64_t StripOrder::index_of(std::int64_t unit, std::int64_t chunk) const {
  return unit_major_ ? unit * shape_.chunks + chunk : chunk * shape_.units + unit;
}

StripOrder::Strip StripOrder::strip(std::int64_t index) const {
  const std::int64_t inner = unit_major_ ? shape_.chunks : shape_.units;
  const std::int64_t outer_part = index / inner;
  const std::int64_t inner_part = index % inner;
  return {.index = index,
          .unit = unit_major_ ? outer_part : inner_part,
          .chunk = unit_major_ ? inner_part : outer_part};
}

void StripOrder::wait_for_turns(const Strip& strip) const {
  for (const std::vector<Turn>& turns : turns_) {
    const std::int64_t previous = turns[static_cast<std::size_t>(strip.index)].previous;
    if (previous >= 0) wait_until(passed_[static_cast<std::size_t>(previous)], shape_.blocks + 1);
  }
}

void StripOrder::wait_for_block(const Strip& strip, std::int64_t block) const {
  if (strip.chunk == 0) return;
  const std::int64_t before = index_of(strip.unit, strip.chunk - 1);
  wait_until(passed_[static_cast<std::size_t>(before)], block + 1);
}

void StripOrder::pass_blocks(const Strip& strip, std::int64_t blocks) {
  passed_[static_cast<std::size_t>(strip.index)].store(blocks, std::memory_order_release);
}

void StripOrder::finish(const Strip& strip) { pass_blocks(strip, shape_.blocks + 1); }

}  // namespace tilewright::cpu
