#pragma once

#include "backends/cpu/jit/llvm/frame.h"
#include "backends/cpu/jit/llvm/op_emitter.h"

namespace tilewright::cpu::jit {

/// Writes the nodes of one domain, a scope at a time, and answers what a node's value is where the
/// builder stands.
class NodeEmitter {
 public:
  NodeEmitter(Frame& frame, Domain& domain);

  /// Tile or row scope: scalars, and vectors of them for the loops inside.
  void emit_scalars(Scope scope);
  /// Column scope in the prologue, score scope in the score loop.
  void emit_vectors(Scope scope);

  /// Gives column-scope nodes that the score loop reads a place in column_scratch from
  /// `bytes_per_column` on; returns where the next one goes.
  std::int64_t assign_slots(std::int64_t bytes_per_column);
  /// In the prologue, after emit_vectors: fills those places.
  void store_columns();

  /// The root for every lane, in the score loop.
  llvm::Value* root() { return vector(domain_.root); }

  /// A node for every lane, and one of tile or row scope as a scalar.
  llvm::Value* lanes(ir::NodeId id) { return vector(id); }
  llvm::Value* single(ir::NodeId id) { return scalar(id); }
  /// An integer node for lane 0 as an i64; only for nodes that have a kv_step.
  llvm::Value* first_lane(ir::NodeId id) { return at_first_lane(id); }

 private:
  llvm::Value* scalar(ir::NodeId id);
  llvm::Value* vector(ir::NodeId id);
  llvm::Value* value(ir::NodeId id, bool as_vector) { return as_vector ? vector(id) : scalar(id); }
  llvm::Value* splat_of(ir::NodeId id);
  llvm::Value* from_scratch(ir::NodeId id);
  llvm::Value* slot_address(ir::NodeId id);
  llvm::Type* slot_type(ir::NodeId id);

  llvm::Value* emit_node(ir::NodeId id, bool as_vector);
  llvm::Value* literal(ir::NodeId id, bool as_vector);
  llvm::Value* number(ir::NodeId id);
  llvm::Value* row(ir::NodeId id, bool as_vector);
  llvm::Value* load(ir::NodeId id, bool as_vector);
  /// The element of a load, where the builder stands, whatever its guard says.
  llvm::Value* early_element(ir::NodeId id, bool as_vector);
  /// The element or 0, by the guard.
  llvm::Value* guarded(ir::NodeId id, llvm::Value* element);
  /// The path condition of a load or division; null where it is always reached.
  llvm::Value* guard(ir::NodeId id, bool as_vector);
  /// Null: every lane.
  llvm::Value* live_lanes(ir::NodeId id, bool as_vector);
  /// An integer node for lane 0 as an i64; only for nodes that have a kv_step.
  llvm::Value* at_first_lane(ir::NodeId id);
  bool is_under_mask(ir::NodeId id) const;
  /// A division of what depends on the score by what its loop does not change: one reciprocal
  /// serves the loop.
  bool multiplies_by_reciprocal(ir::NodeId id) const;
  llvm::Value* reciprocal_of(ir::NodeId id);

  Frame& frame_;
  Domain& domain_;
  OpEmitter ops_;
  std::vector<bool> read_in_columns_;  ///< by nodes of column scope
  std::vector<bool> read_in_scores_;   ///< by nodes of score scope, or as a root
  std::vector<bool> depends_on_score_;
  std::vector<llvm::Value*> reciprocals_;  ///< splats, of divisors
};

}  // namespace tilewright::cpu::jit
