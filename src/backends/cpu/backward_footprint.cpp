#include "backends/cpu/backward_footprint.h"

#include <algorithm>

#include "backends/cpu/capture_gradients.h"

namespace tilewright::cpu {

namespace {

/// Packed rows held at a time; more units go in rounds.
constexpr std::size_t kPackedBytesAtOnce = std::size_t{512} << 20;

}  // namespace

BackwardFootprint::BackwardFootprint(const BackwardCall& call)
    : call_(call),
      layout_(backward_layout(call)),
      blocks_(row_blocks(call)),
      sharing_(capture_sharing(call, shape({0, units()}))) {}

std::int64_t BackwardFootprint::units() const noexcept {
  return call_.problem->kv_batch * call_.problem->kv_heads;
}

std::int64_t BackwardFootprint::units_per_round() const noexcept {
  const std::int64_t all = std::max<std::int64_t>(units(), 1);
  const std::size_t unit_bytes = blocks_.size() * layout_.block_bytes;
  if (unit_bytes == 0) return all;
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(kPackedBytesAtOnce / unit_bytes), 1,
                                  all);
}

StripOrder::Shape BackwardFootprint::shape(UnitRange units) const noexcept {
  const Problem& problem = *call_.problem;
  const std::int64_t tile = call_.kv_tile_tokens;
  return {.units = units.end - units.begin,
          .heads = std::max<std::int64_t>(problem.kv_heads, 1),
          .first_unit = units.begin,
          .chunks = (problem.kv_len + tile - 1) / tile,
          .blocks = static_cast<std::int64_t>(blocks_.size())};
}

BackwardFootprint::Round BackwardFootprint::round(UnitRange units, int threads) const noexcept {
  const StripOrder::Shape of = shape(units);
  Round round;
  round.blocks = of.units * of.blocks;
  const std::int64_t tasks = std::max(of.units * of.chunks, round.blocks);
  round.workers = std::clamp<std::int64_t>(threads, 1, std::max<std::int64_t>(tasks, 1));
  round.rows_bytes = static_cast<std::size_t>(round.blocks) * layout_.block_bytes;
  round.bytes = round.rows_bytes + static_cast<std::size_t>(round.workers) * layout_.worker_bytes;
  return round;
}

std::size_t BackwardFootprint::sums_bytes() const {
  return CaptureGradients::bytes(call_, sharing_);
}

std::size_t BackwardFootprint::peak_bytes(int threads) const {
  // The first round is the largest.
  return sums_bytes() + round({0, std::min(units_per_round(), units())}, threads).bytes;
}

}  // namespace tilewright::cpu
