#pragma once

#include "backends/cpu/jit/llvm/frame.h"

namespace tilewright::cpu::jit {

/// One load of the program where the builder stands.
struct CaptureLoad {
  ir::NodeId node = ir::kNoNode;
  llvm::ArrayRef<llvm::Value*> indices;  ///< scalars, or vectors of Frame::integer
  llvm::Value* live = nullptr;           ///< i1 like the indices; null: every lane is live
  bool is_vector = false;
  bool check_bounds = false;  ///< dead lanes may hold any index
  bool record_faults = false;
  llvm::Type* real = nullptr;
};

/// Reads the elements of `load`, 0's place for lanes that are dead or out of range: nothing outside
/// the tensor is touched.
llvm::Value* emit_gather(Frame& frame, const CaptureLoad& load);

/// The scalar subscripts of lane 0, and which axis moves by `step` from lane to lane.
struct ContiguousLoad {
  llvm::SmallVector<llvm::Value*, 4> first;
  std::size_t axis = 0;
  std::int64_t step = 1;
};

/// One vector load where the lanes turn out to lie side by side in memory and inside the tensor,
/// emit_gather otherwise.
llvm::Value* emit_contiguous_load(Frame& frame, const CaptureLoad& load,
                                  const ContiguousLoad& contiguous);

/// Notes the first lane of `faulty` (i1, scalar or vector) with its index as a fault of `node`.
void emit_fault(Frame& frame, llvm::Value* faulty, ir::NodeId node, std::int64_t axis,
                llvm::Value* index);

}  // namespace tilewright::cpu::jit
