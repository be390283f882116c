#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/cpu/backward_call.h"
#include "backends/cpu/strip_order.h"

namespace tilewright::cpu {

/// A run of (batch, kv head) pairs.
struct UnitRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// How one backward call is cut into rounds, and what it takes of the workspace. The call must
/// outlive it.
class BackwardFootprint {
 public:
  explicit BackwardFootprint(const BackwardCall& call);

  /// Units whose packed rows are held at a time.
  struct Round {
    std::int64_t blocks = 0;
    std::int64_t workers = 1;
    std::size_t rows_bytes = 0;
    std::size_t bytes = 0;  ///< rows and the workers' buffers
  };

  std::int64_t units() const noexcept;
  std::int64_t units_per_round() const noexcept;
  StripOrder::Shape shape(UnitRange units) const noexcept;
  Round round(UnitRange units, int threads) const noexcept;
  /// Of the copies of captured gradients.
  std::size_t sums_bytes() const;
  /// What the whole call takes at its peak.
  std::size_t peak_bytes(int threads) const;

  const BackwardLayout& layout() const noexcept { return layout_; }
  const std::vector<RowBlock>& blocks() const noexcept { return blocks_; }
  const std::vector<CaptureSharing>& sharing() const noexcept { return sharing_; }

 private:
  const BackwardCall& call_;
  BackwardLayout layout_;
  std::vector<RowBlock> blocks_;
  std::vector<CaptureSharing> sharing_;
};

}  // namespace tilewright::cpu
