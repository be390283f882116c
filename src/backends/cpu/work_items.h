#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/forward_call.h"

namespace tilewright::cpu {

/// Where an item's rows go: straight to the outputs, or to a slot of fp32 partials that a merge
/// reads.
inline constexpr std::int64_t kFinalSlot = -1;

/// The unit of the schedule: query rows of `heads` query heads that share a kv head, against a
/// range of keys.
struct WorkItem {
  std::int64_t b = 0;
  std::int64_t h = 0;  ///< first query head
  std::int64_t heads = 1;
  std::int64_t q_begin = 0;  ///< storage row
  std::int64_t q_rows = 0;   ///< rows of each head
  TokenRange keys;           ///< storage rows of keys
  std::int64_t slot = kFinalSlot;
  std::int64_t cost = 0;  ///< (query, key) pairs visited

  std::int64_t rows() const noexcept { return heads * q_rows; }
};

/// Slots [first_slot, first_slot + slots) hold the parts of `item`.
struct MergeItem {
  WorkItem item;
  std::int64_t first_slot = 0;
  std::int64_t slots = 0;
};

struct Schedule {
  std::vector<WorkItem> items;  ///< in the order in which they are started
  std::vector<MergeItem> merges;
  std::int64_t slots = 0;
};

/// A contiguous run of (batch, kv head) pairs, counted batch-major over query batch rows.
struct HeadRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Cuts the call into items. Keys are split, at multiples of split_tokens, only where there are
/// fewer items than threads.
Schedule make_schedule(const ForwardCall& call, HeadRange heads, int threads);

}  // namespace tilewright::cpu
