#pragma once

#include <vector>

#include "backends/cuda/backward_rows.h"

namespace tilewright::cuda {

/// The rows of the portable backward family, most preferred first, each usable or with its
/// rejection.
std::vector<BackwardCandidate> portable_backward_candidates(const RowQuestion& question);

/// PortableBackwardLayout::kBytes.
std::int64_t portable_backward_shared_bytes(const BackwardRow& row, const Problem& problem);

}  // namespace tilewright::cuda
