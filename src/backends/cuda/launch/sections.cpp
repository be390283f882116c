#include "backends/cuda/launch/sections.h"

#include <algorithm>
#include <cmath>

namespace tilewright::cuda {

std::int32_t section_heads(const SectionQuestion& question) noexcept {
  const auto tiles = static_cast<double>(std::max<std::int64_t>(question.q_tiles, 1));
  const double waves = question.uneven ? std::clamp(tiles / question.tiles_a_wave,
                                                    question.fewest_waves, question.most_waves)
                                       : 1.0;
  const double groups = std::round(waves * question.multiprocessors / tiles /
                                   static_cast<double>(question.group_heads));
  const auto heads = static_cast<std::int64_t>(std::max(groups, 1.0)) * question.group_heads;
  return static_cast<std::int32_t>(std::min(heads, std::max<std::int64_t>(question.heads, 1)));
}

}  // namespace tilewright::cuda
