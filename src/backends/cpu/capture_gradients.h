#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backends/cpu/backward_call.h"
#include "backends/cpu/strip_order.h"
#include "backends/cpu/worker_pool.h"

namespace tilewright::cpu {

/// How many copies of each wanted captured tensor there are and which strips may meet in one of
/// their elements. Depends on the problem and the tensor alone, not on what else is wanted.
std::vector<CaptureSharing> capture_sharing(const BackwardCall& call,
                                            const StripOrder::Shape& shape);

/// Whether strips are claimed unit by unit: where a captured tensor, wanted or not, has the key
/// among its subscripts but not batch entry and head, strips of one place along the keys would wait
/// for each other.
bool claims_unit_by_unit(const ir::Program& program);

/// The copies of captured tensors that strips add to, and their sum.
class CaptureGradients {
 public:
  /// Needs bytes() bytes at `memory`.
  CaptureGradients(const BackwardCall& call, std::span<const CaptureSharing> sharing, char* memory);

  static std::size_t bytes(const BackwardCall& call, std::span<const CaptureSharing> sharing);

  void clear(const WorkerPool& workers, const HostServices& host) const;
  /// Per capture slot of the program the copy that a strip adds to, null where no gradient is
  /// wanted.
  std::vector<void*> sums(const StripOrder& order, const StripOrder::Strip& strip) const;
  /// Adds the copies up pairwise, in one order, and writes the gradients.
  void store(const WorkerPool& workers, const HostServices& host) const;

 private:
  const BackwardCall& call_;
  std::vector<std::vector<void*>> copies_;  ///< per target
};

}  // namespace tilewright::cpu
