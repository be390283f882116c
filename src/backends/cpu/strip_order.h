#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tilewright::cpu {

/// What the gradient of one captured tensor shares between strips: two strips whose place differs
/// on a separated axis never add to one element.
struct CaptureSharing {
  bool separated_by_batch = true;
  bool separated_by_head = true;
  bool separated_by_keys = true;
  std::int64_t slots = 1;  ///< copies of the tensor that strips add to
};

/// A strip is one kv tile of one unit against all rows of the unit. It is the unit of parallelism
/// and owns its keys' gradients; what strips share is added to in an order that depends on the
/// problem alone, so that sums have the same bits for any number of threads:
///
///   dQ of a row block    strip by strip along the keys: a strip may add to block i once the strip
///                        before it has passed block i
///   captured sums        strips that may meet in one element take turns in the copies of the
///                        tensor: the n-th of them adds to copy n mod slots, after the one before
///
/// Strips are claimed in one order, and wait only for strips that were claimed before them, so some
/// claimed strip can always go on.
class StripOrder {
 public:
  struct Shape {
    std::int64_t units = 0;
    std::int64_t heads = 1;  ///< kv heads; unit = b * heads + h
    std::int64_t first_unit = 0;
    std::int64_t chunks = 0;
    std::int64_t blocks = 0;
  };
  struct Strip {
    std::int64_t index = 0;
    std::int64_t unit = 0;
    std::int64_t chunk = 0;
  };

  /// `unit_major`: all strips of a unit one after another; else those of one place along the keys.
  StripOrder(const Shape& shape, std::span<const CaptureSharing> captures, bool unit_major);

  std::int64_t count() const noexcept { return shape_.units * shape_.chunks; }
  /// The next unclaimed strip's index; count() and more: none is left.
  std::int64_t claim() noexcept { return next_.fetch_add(1, std::memory_order_relaxed); }
  Strip strip(std::int64_t index) const;

  /// The copy of a captured tensor that this strip adds to.
  std::int64_t slot(const Strip& strip, std::size_t capture) const {
    return turns_[capture][static_cast<std::size_t>(strip.index)].slot;
  }
  /// Returns once this strip may add to its copies.
  void wait_for_turns(const Strip& strip) const;
  /// Returns once this strip may add to dQ of a block.
  void wait_for_block(const Strip& strip, std::int64_t block) const;
  /// This strip adds nothing more to dQ of blocks before `blocks`.
  void pass_blocks(const Strip& strip, std::int64_t blocks);
  /// This strip adds nothing more at all.
  void finish(const Strip& strip);

 private:
  std::int64_t index_of(std::int64_t unit, std::int64_t chunk) const;
  std::int64_t sharing_class(const CaptureSharing& sharing, const Strip& strip) const;

  struct Turn {
    std::int64_t slot = 0;
    std::int64_t previous = -1;  ///< the strip before this one in its slot
  };

  Shape shape_;
  bool unit_major_;
  std::vector<std::vector<Turn>> turns_;                 ///< per capture and strip
  std::unique_ptr<std::atomic<std::int64_t>[]> passed_;  ///< per strip; blocks + 1: finished
  std::atomic<std::int64_t> next_{0};
};

/// Strips that may meet in one element: more copies of a tensor than that serve nothing.
std::int64_t largest_sharing_class(const StripOrder::Shape& shape, const CaptureSharing& sharing);

}  // namespace tilewright::cpu
