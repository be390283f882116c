#pragma once

#include <vector>

#include "backends/cuda/kernel_row.h"

namespace tilewright::cuda {

/// Rows of attention/hopper_forward.cuh, most preferred first, each usable or with its rejection.
std::vector<Candidate> hopper_candidates(const RowQuestion& question);

/// Dynamic shared memory of a block: ForwardLayout::kBytes.
std::int64_t hopper_shared_bytes(const KernelRow& row, const Problem& problem);

/// Registers of a thread of a consumer and of the producer after they have been moved:
/// ForwardLayout::kConsumerRegisters and kProducerRegisters.
struct RegisterPlan {
  int consumer = 0;
  int producer = 0;
};
RegisterPlan hopper_registers(const KernelRow& row, const Problem& problem);

}  // namespace tilewright::cuda
