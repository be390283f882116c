#pragma once

#include <cstdint>
#include <vector>

#include "backends/cuda/emit/node_plan.h"
#include "ir/differentiate.h"

namespace tilewright::cuda {

/// What the subscripts of a load depend on, beside b and h: PlaceScope of
/// attention/capture_contract.cuh.
enum class PlaceScope : std::uint8_t { kHead, kRow, kColumn, kDiagonal, kPair };

/// One load whose gradient is wanted.
struct CaptureLoadPlan {
  std::uint32_t capture = 0;
  std::size_t target = 0;  ///< index into the plan's targets
  ir::NodeId load = ir::kNoNode;
  ir::NodeId factor = ir::kNoNode;
  PlaceScope scope = PlaceScope::kPair;
  /// Different rows (columns, pairs) of one head read different elements.
  bool distinct = false;
};

/// A captured tensor that loads with a derivative read.
struct CaptureTargetPlan {
  std::uint32_t capture = 0;
  /// Pairs of different rows and keys never meet at an element, so that all blocks add to one copy.
  bool is_shared = false;
};

struct CapturePlan {
  std::vector<CaptureLoadPlan> loads;
  std::vector<CaptureTargetPlan> targets;  ///< ascending by capture
  /// Some pairs may meet at any element.
  bool has_gathers() const noexcept;
  bool has_shared() const noexcept;
};

CapturePlan plan_captures(const NodePlan& plan, const ir::Derivative& derivative);

}  // namespace tilewright::cuda
