#pragma once

#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "backends/cpu/jit/llvm/pass_function.h"
#include "ir/differentiate.h"

namespace tilewright::cpu::jit {

/// Writes one pass function of the backward (gradient_pass.h). Per row one loop over the tile's
/// columns: t, p, dT, dS, and for each captured load a sum where its subscripts say:
///
///   subscripts of the tile     one vector of sums for the whole tile, added once
///   of the row                 one vector a row, added at the row's end
///   of the column              sums per column in column_scratch, added at the tile's end
///   of the score               every product goes to its element at once, lane after lane; lanes
///                              side by side in memory go together
class GradientFunction : public PassFunction {
 public:
  GradientFunction(Frame& frame, Domain& mask, Domain& score, const ir::Derivative& derivative);

  /// Returns the bytes per column of column_scratch that it uses.
  std::int64_t emit();

 private:
  /// Where the gradient of one captured load is summed.
  struct Sum {
    const ir::LoadDerivative* load = nullptr;
    Scope scope = Scope::kTile;         ///< of its subscripts
    llvm::Value* base = nullptr;        ///< element 0 of the capture's sums
    std::vector<llvm::Value*> strides;  ///< of the sums, in elements
    llvm::Value* spare = nullptr;       ///< offset of the element behind them, for dead lanes
    std::optional<Variable> total;      ///< tile and row scope
    std::int64_t scratch_offset = 0;    ///< column scope: bytes per column before it
  };

  /// Rows of the tiles that a row of scores becomes.
  struct GradientRow {
    Row row;
    llvm::Value* d_prob = nullptr;
    llvm::Value* d_score = nullptr;
    llvm::Value* lse = nullptr;  ///< vectors
    llvm::Value* delta = nullptr;
  };

  /// What the scalar subscripts of a load say; a null is_inside: there are none.
  struct ScalarPlace {
    llvm::Value* offset;
    llvm::Value* is_inside;
  };

  void emit_gradient_row(llvm::Value* index);
  GradientRow row_at(llvm::Value* index);
  void emit_vector(const GradientRow& row, llvm::Value* column);
  void emit_live_vector(const GradientRow& row, llvm::Value* column);
  void store_zeros(const GradientRow& row, llvm::Value* begin, llvm::Value* end);
  void store_d_score(const GradientRow& row, llvm::Value* column, llvm::Value* live,
                     llvm::Value* d_t);
  llvm::Value* gradient_field(std::size_t offset_bytes, llvm::Type* type) {
    return frame_.field(frame_.tile, offset_bytes, type);
  }
  llvm::Value* zeros() { return llvm::Constant::getNullValue(frame_.vector_of(frame_.real)); }
  bool needs_d_prob() const { return derivative_.d_score || !derivative_.loads.empty(); }

  // gradient_sums.cpp: from products to sums, from sums to elements.
  void list_sums();
  void start_column_sums();
  void start_scope(Scope scope);
  void add_to_sums(llvm::Value* column, llvm::Value* live, llvm::Value* d_t);
  void finish_scope(Scope scope);
  void finish_columns();
  std::span<const ir::NodeId> subscripts(const Sum& sum) const;
  Scope scope_of_subscripts(const Sum& sum) const;
  llvm::Value* column_sum_address(const Sum& sum, llvm::Value* column);
  ScalarPlace scalar_place(const Sum& sum);
  void add_scalar(const Sum& sum, llvm::Value* vector);
  void scatter(const Sum& sum, llvm::Value* vector, llvm::Value* live);
  void scatter_side_by_side(const Sum& sum, llvm::Value* vector, llvm::Value* live);
  void scatter_lanes(const Sum& sum, llvm::Value* vector, llvm::Value* live);
  std::int64_t most_lane_index() const;

  const ir::Derivative& derivative_;
  std::vector<Sum> sums_;
};

}  // namespace tilewright::cpu::jit
