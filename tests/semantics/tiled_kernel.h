#pragma once

#include <cstdint>

#include "support/forward.h"

namespace tilewright::cases {

/// What a broken schedule does to one key tile.
enum class Mutation : std::uint8_t { kNone, kDropTile, kVisitTwice, kUnmaskTile };

/// A plain flash kernel: key tiles of 128, running maximum, P rounded to the dtype of query before
/// PV. Keys from `live_keys` on are masked. One head; the mutation strikes the tile in the middle,
/// or the first masked one.
struct TiledKernel {
  static constexpr std::int64_t kTile = 128;
  std::int64_t live_keys = 0;
  Mutation mutation = Mutation::kNone;

  void run(const ForwardInputs& inputs, const ForwardOutputs& outputs) const;
};

}  // namespace tilewright::cases
