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
  /// Of uneven items, in items a multiprocessor: a section has q_tiles / tiles_a_wave, within
  /// these.
  double tiles_a_wave = 8, fewest_waves = 2, most_waves = 8;
};

/// Heads of a section, a multiple of group_heads: small sections keep keys and values in the L2
/// cache; where items differ in length the last section must be long enough to balance.
std::int32_t section_heads(const SectionQuestion& question) noexcept;

}  // namespace tilewright::cuda
