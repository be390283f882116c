#include "backends/cuda/kernel_row.h"

#include "backends/cuda/hopper_rows.h"
#include "backends/cuda/portable_rows.h"

namespace tilewright::cuda {

LengthClass length_class_of(const ir::Program& program, const Problem& problem) noexcept {
  constexpr std::int64_t kShortLength = 2048;
  constexpr std::int64_t kDecodeRows = 64, kDecodeKeys = 512;
  if (problem.q_len * problem.group() <= kDecodeRows && problem.kv_len >= kDecodeKeys)
    return LengthClass::kDecode;
  const bool is_short = program.roots().mask.has_value() && problem.kv_len < kShortLength;
  return is_short ? LengthClass::kShort : LengthClass::kLong;
}

std::vector<Candidate> candidates(const RowQuestion& question) {
  std::vector<Candidate> all = decode_candidates(question);
  for (auto family : {hopper_candidates, portable_candidates})
    for (Candidate& candidate : family(question)) all.push_back(std::move(candidate));
  return all;
}

std::int64_t shared_bytes(const KernelRow& row, const Problem& problem) {
  return row.family == Family::kHopper ? hopper_shared_bytes(row, problem)
                                       : portable_shared_bytes(row, problem);
}

}  // namespace tilewright::cuda
