#include "backends/cuda/kernel_row.h"

#include "backends/cuda/hopper_rows.h"
#include "base/check.h"

namespace tilewright::cuda {

std::vector<Candidate> candidates(const RowQuestion& question) {
  return hopper_candidates(question);
}

std::int64_t shared_bytes(const KernelRow& row, const Problem& problem) {
  TILEWRIGHT_CHECK(row.family == Family::kHopper);
  return hopper_shared_bytes(row, problem);
}

}  // namespace tilewright::cuda
