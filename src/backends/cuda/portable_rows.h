#pragma once

#include <vector>

#include "backends/cuda/kernel_row.h"

namespace tilewright::cuda {

// Rows of attention/portable_forward.cuh, most preferred first, each usable or with its rejection.

/// Rows that pack the heads of a group into a tile and split the keys.
std::vector<Candidate> decode_candidates(const RowQuestion& question);
std::vector<Candidate> portable_candidates(const RowQuestion& question);

/// PortableLayout::kBytes of a row.
std::int64_t portable_shared_bytes(const KernelRow& row, const Problem& problem);

/// Whether E and Ev are whole numbers of 16 bytes: else rows of a dense tensor do not all begin at
/// multiples of them.
bool rows_fill_units(const Problem& problem);

}  // namespace tilewright::cuda
