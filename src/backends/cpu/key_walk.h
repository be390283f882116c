#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/band_join.h"

namespace tilewright::cpu {

/// A step and the rows of the item that take it.
struct RowStep {
  std::int64_t row_begin = 0;
  std::int64_t rows = 0;
  KeyStep step;
};

/// The steps of an item in the order in which they are computed: kv tile by kv tile, so that a
/// packed tile stays in the cache for all rows, and the last tile first: where scores grow towards
/// the diagonal (ALiBi), the first maximum is then the greatest and no row moves its shift. Each
/// query block of the map is a band of rows with steps of its own; bands are joined where that is
/// cheaper, and adjacent ones that take the same step take it as one.
class KeyWalk {
 public:
  /// Keeps the capacity of its lists from item to item.
  void start(const ForwardCall& call, const WorkItem& item, std::int64_t alignment);
  bool empty() const noexcept { return steps_.empty(); }
  /// The next step; false at the end.
  bool next(RowStep& next);

 private:
  void list_bands(const ForwardCall& call, const WorkItem& item, std::int64_t alignment);
  void repeat_bands(const WorkItem& item);
  std::int64_t tile_of(const Band& band) const;
  bool find_tile();

  std::vector<Band> bands_;
  std::vector<KeyStep> steps_;
  std::int64_t kv_tile_tokens_ = 1;
  std::int64_t tile_ = 0;
  std::size_t band_ = 0;
};

}  // namespace tilewright::cpu
