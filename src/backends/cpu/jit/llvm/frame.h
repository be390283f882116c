#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "backends/cpu/jit/llvm/builder.h"
#include "backends/cpu/jit/llvm/machine.h"
#include "backends/cpu/jit/llvm/placement.h"
#include "backends/cpu/jit/llvm/vector_math.h"
#include "backends/cpu/score_pass.h"
#include "ir/program.h"

namespace tilewright::cpu::jit {

/// A captured tensor, loaded once per call of the pass.
struct CaptureValues {
  llvm::Value* data = nullptr;  ///< readable at element 0 even if the tensor is empty
  std::vector<llvm::Value*> extents;
  std::vector<llvm::Value*> strides;
};

/// What the emission of one pass function shares: types, the tile's fields, and where in the loops
/// the builder stands.
struct Frame {
  Builder& b;
  VectorMath& math;
  const Machine& machine;
  const ir::Program& program;
  PassVariant variant = {};
  bool masked = false;

  unsigned lanes = 1;
  llvm::Type* real = nullptr;     ///< of scores: f32 or f64
  llvm::Type* integer = nullptr;  ///< of integer vectors' elements; scalars are i64
  llvm::Function* function = nullptr;
  llvm::Function* record_fault = nullptr;  ///< (fault, node, axis, index)
  llvm::MDNode* unlikely = nullptr;        ///< branch weights
  std::vector<Scope> scopes = {};
  std::vector<std::optional<Scope>> early_loads = {};
  std::vector<std::optional<std::int64_t>> kv_steps = {};  ///< per node, see placement.h

  llvm::Value* call = nullptr;
  llvm::Value* tile = nullptr;
  llvm::Value* fault = nullptr;
  llvm::Value* batch = nullptr;
  llvm::Value* head = nullptr;
  llvm::Value* kv_begin = nullptr;
  llvm::Value* column_scratch = nullptr;
  llvm::Value* prob_cols = nullptr;
  llvm::Value* nonempty = nullptr;  ///< i1: the tile has a column in range
  std::vector<CaptureValues> captures = {};

  llvm::Value* query = nullptr;  ///< i64, per row

  llvm::Value* column = nullptr;     ///< i64, column of lane 0 in a vector loop
  llvm::Value* kv_first = nullptr;   ///< i64, its kv
  llvm::Value* kv_vector = nullptr;  ///< kv of every lane
  llvm::Value* in_range = nullptr;   ///< i1 vector, null where every lane counts
  llvm::Value* mask_true = nullptr;  ///< i1 vector of mask_mod, null before and without it
  llvm::Value* score = nullptr;      ///< scaled score of every lane

  llvm::FixedVectorType* vector_of(llvm::Type* element) const {
    return llvm::FixedVectorType::get(element, lanes);
  }
  llvm::Value* field(llvm::Value* base, std::size_t offset_bytes, llvm::Type* type) const {
    return b.CreateLoad(type, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), base, offset_bytes));
  }
  llvm::Value* both(llvm::Value* x, llvm::Value* y) const {
    if (x == nullptr) return y;
    return y == nullptr ? x : b.CreateAnd(x, y);
  }
  llvm::Value* splat(llvm::Value* scalar) const { return b.CreateVectorSplat(lanes, scalar); }
  /// An i64 as integer vector.
  llvm::Value* splat_integer(llvm::Value* scalar) const {
    return splat(b.CreateTrunc(scalar, integer));
  }
};

/// Values of nodes for one float type.
struct NodeTable {
  llvm::Type* real = nullptr;
  std::vector<llvm::Value*> scalars;      ///< tile and row scope
  std::vector<llvm::Value*> splats;       ///< vectors of them
  std::vector<llvm::Value*> vectors;      ///< column and score scope, of the loop being written
  std::vector<std::int64_t> slots;        ///< column scope: bytes per column before it in
                                          ///< column_scratch, -1 where it is not kept
  std::vector<llvm::Value*> first_lanes;  ///< i64 of lane 0, of the loop being written

  NodeTable(llvm::Type* type, std::size_t size)
      : real(type),
        scalars(size),
        splats(size),
        vectors(size),
        slots(size, -1),
        first_lanes(size) {}
  void forget_vectors() {
    std::fill(vectors.begin(), vectors.end(), nullptr);
    std::fill(first_lanes.begin(), first_lanes.end(), nullptr);
  }
};

/// The nodes that one root adds to a table.
struct Domain {
  NodeTable& table;
  ir::NodeId root = ir::kNoNode;
  std::vector<bool> own;
  bool is_mask = false;  ///< libm per lane instead of approximations: the interpreter's bits (R3)
};

}  // namespace tilewright::cpu::jit
