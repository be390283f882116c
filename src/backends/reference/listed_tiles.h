#pragma once

#include <cstdint>
#include <vector>

#include "tilewright/block_lists.h"
#include "tilewright/problem.h"

namespace tilewright::reference {

/// What explicit block lists say about a pair's tile.
enum class Listing : std::uint8_t { kAbsent, kPartial, kFull };

/// Block lists as a table with one entry a tile. Unsorted and repeated entries are fine; where a
/// tile is in both lists full wins; entries past a count are never read (semantics R3).
class ListedTiles {
 public:
  /// Throws Error{kInvalidArgument} for lengths, ranks, dtypes, broadcast extents, counts or
  /// indices that do not fit the problem.
  ListedTiles(const BlockLists& lists, const Problem& problem);

  /// `q_row` and `kv_row` count from the first stored row, not from the logical base.
  Listing at(std::int64_t b, std::int64_t h, std::int64_t q_row, std::int64_t kv_row) const;

 private:
  void mark(const TensorView& counts, const TensorView& indices, Listing listing);

  std::int64_t batch_ = 1;
  std::int64_t heads_ = 1;
  std::int64_t q_block_ = 1;
  std::int64_t kv_block_ = 1;
  std::int64_t q_tiles_ = 0;
  std::int64_t kv_tiles_ = 0;
  std::vector<Listing> tiles_;
};

}  // namespace tilewright::reference
