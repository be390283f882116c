#pragma once

#include <cstdint>

namespace tilewright::cuda {

/// What the order of work items depends on.
struct SectionQuestion {
  std::int64_t q_tiles = 0;
  std::int64_t group_heads = 1;
  std::int64_t heads = 0;  ///< query heads of all batches
  int multiprocessors = 1;
  bool uneven = false;  ///< items differ in length: a mask skips tiles
};

/// Heads of a section, a multiple of group_heads: small sections keep keys and values in the L2
/// cache; where items differ in length the last section must be long enough to balance.
std::int32_t section_heads(const SectionQuestion& question) noexcept;

}  // namespace tilewright::cuda
