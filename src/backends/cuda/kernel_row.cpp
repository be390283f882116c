#include "backends/cuda/kernel_row.h"

#include "backends/cuda/hopper_rows.h"
#include "backends/cuda/portable_rows.h"

namespace tilewright::cuda {

std::vector<Candidate> candidates(const RowQuestion& question) {
  std::vector<Candidate> all = hopper_candidates(question);
  for (Candidate& candidate : portable_candidates(question)) all.push_back(std::move(candidate));
  return all;
}

std::int64_t shared_bytes(const KernelRow& row, const Problem& problem) {
  return row.family == Family::kHopper ? hopper_shared_bytes(row, problem)
                                       : portable_shared_bytes(row, problem);
}

}  // namespace tilewright::cuda
