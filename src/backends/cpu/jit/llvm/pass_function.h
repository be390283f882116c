#pragma once

#include "backends/cpu/jit/llvm/frame.h"
#include "backends/cpu/jit/llvm/loop.h"
#include "backends/cpu/jit/llvm/node_emitter.h"
#include "backends/cpu/jit/llvm/staged_code.h"

namespace tilewright::cpu::jit {

/// Writes one pass function, full or masked. Per row, one loop over the tile's columns,
///
///   t = select(mask, score_mod(scale * score), -inf);  the greatest t
///   p = exp(t - shift), stored;  the sum of p
///
/// after a prologue that computes what depends on (b, h) and on the column alone. The loop computes
/// t of one vector and p of the one before; it trusts the row's shift and runs again where the
/// greatest t proves it too small, which is rare after a row's first tile. There one loop finds the
/// maximum and another the probabilities.
class PassFunction {
 public:
  /// `frame.function` is empty; mask and score tables may be one.
  PassFunction(Frame& frame, Domain& mask, Domain& score)
      : frame_(frame),
        b_(frame.b),
        mask_domain_(mask),
        score_domain_(score),
        mask_(frame, mask),
        score_(frame, score) {}

  /// Returns the bytes per column of column_scratch that it uses.
  std::int64_t emit();

 protected:
  /// Scalars of the tile that the loops use.
  struct Tile {
    llvm::Value* score = nullptr;
    llvm::Value* prob = nullptr;
    llvm::Value* score_stride = nullptr;
    llvm::Value* prob_stride = nullptr;
    llvm::Value* exact_prob = nullptr;   ///< null where prob is exact itself
    llvm::Value* wants_exact = nullptr;  ///< whether the caller gave exact_prob
    llvm::Value* col_begin = nullptr;
    llvm::Value* col_end = nullptr;
    llvm::Value* vector_begin = nullptr;    ///< col_begin rounded down to the lanes
    llvm::Value* vector_end = nullptr;      ///< col_end rounded up
    llvm::Value* interior_begin = nullptr;  ///< vectors from here
    llvm::Value* interior_cols = nullptr;   ///< for so many columns lie in range entirely
    llvm::Value* scale = nullptr;           ///< a vector
  };

  /// Where a row lies and what its loops share.
  struct Row {
    llvm::Value* index = nullptr;
    llvm::Value* score = nullptr;
    llvm::Value* prob = nullptr;
    llvm::Value* exact_prob = nullptr;
  };

  /// What the loop of a row carries from vector to vector.
  struct RowLoop {
    Row row;
    llvm::Value* shifts;  ///< a vector
    Variable keys;        ///< kv of the lanes
    Variable most;        ///< the greatest t so far, lane by lane
    Variable ahead;       ///< t of a vector whose probabilities are not computed yet
    Variable sum;
  };

  /// What the loop of a row finds.
  struct RowSums {
    llvm::Value* max = nullptr;
    llvm::Value* sum = nullptr;
  };

  /// The row's shift before and after the tile.
  struct ShiftMove {
    llvm::Value* before = nullptr;
    llvm::Value* after = nullptr;
  };

  void load_tile();
  void load_captures();
  void bound_columns();
  void emit_tile_scope();
  void emit_columns();
  void emit_row(llvm::Value* index);
  void emit_softmax(const Row& row);
  /// The kv of the lanes of a row's first vector; emit_score moves it on.
  Variable first_keys();
  /// t of one vector.
  llvm::Value* emit_score(const Row& row, llvm::Value* column, Variable& keys);
  void stand_in_row(llvm::Value* column, Variable& keys);
  void step_keys(Variable& keys);
  void emit_paired_loop(RowLoop& loop, llvm::Value* first);
  void emit_staged_loop(RowLoop& loop, const StraightCode& first, int middle);
  void keep_ahead(RowLoop& loop, llvm::Value* column, llvm::Value* t);
  void finish_vector(RowLoop& loop, llvm::Value* column, llvm::Value* t);
  /// t, its maximum, probabilities and their sum in one loop.
  RowSums emit_fresh_columns(const Row& row, llvm::Value* shift);
  /// The maximum of a row's first tile; leaves t in place of the scores.
  llvm::Value* emit_probe(const Row& row);
  /// Probabilities and their sum from what emit_probe left.
  llvm::Value* emit_kept_columns(const Row& row, llvm::Value* shift);
  llvm::Value* probability(llvm::Value* shifted);
  /// The same, stored.
  llvm::Value* emit_probability(const Row& row, llvm::Value* column, llvm::Value* shifted);
  void keep_greater(Variable& most, llvm::Value* t);
  llvm::Value* greatest(llvm::Value* most);
  llvm::Value* total(llvm::Value* sums);
  void emit_row_sum(const Row& row, ShiftMove move, llvm::Value* tile_sum);
  void store_probabilities(const Row& row, llvm::Value* column, llvm::Value* probabilities);
  /// Also unrounded, where the caller asks for it.
  void store_exact(const Row& row, llvm::Value* column, llvm::Value* probabilities);
  void zero_probabilities(const Row& row, llvm::Value* begin, llvm::Value* end);

  void stand_at(llvm::Value* column);
  llvm::Value* lanes_in_range(llvm::Value* column);
  llvm::Value* scaled_score(const Row& row, llvm::Value* column);
  llvm::Value* masked_score(const Row& row, llvm::Value* column);
  llvm::Value* modified_score(const Row& row, llvm::Value* column);
  llvm::Value* without_outside(llvm::Value* column, llvm::Value* t);
  llvm::Value* any_lane(llvm::Value* lanes);

  llvm::Value* tile_field(std::size_t offset_bytes, llvm::Type* type) {
    return frame_.field(frame_.tile, offset_bytes, type);
  }
  llvm::Value* row_state(std::size_t offset_bytes, llvm::Value* row);
  llvm::Value* minus_infinity();
  bool fails_per_score() const;
  bool reads_kv_per_score() const;
  bool has_columns() const;
  bool skips_dead_vectors() const;

  Frame& frame_;
  Builder& b_;
  Domain& mask_domain_;
  Domain& score_domain_;
  NodeEmitter mask_;
  NodeEmitter score_;
  Tile tile_;
  std::int64_t scratch_bytes_per_column_ = 0;
};

}  // namespace tilewright::cpu::jit
