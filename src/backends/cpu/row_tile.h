#pragma once

#include <cstdint>

#include "backends/cpu/item_tiles.h"
#include "backends/cpu/key_walk.h"
#include "backends/cpu/packed_chunks.h"

namespace tilewright::cpu {

/// Rows of one item while it is computed: unnormalised output and the statistics of the score pass.
/// Real is fp32, or fp64.
struct RowState {
  void* out = nullptr;  ///< Real [rows][out_cols]
  void* max = nullptr;  ///< Real [rows] each
  void* shift = nullptr;
  void* sum = nullptr;
};

/// One worker's buffers, carved from the workspace.
class RowTile {
 public:
  RowTile(const ForwardCall& call, const ForwardLayout& layout, char* memory);

  /// Computes an item from its first key to its last: O = sum exp(t - shift) V, with max, shift and
  /// sum per row.
  /// @param packed  null for direct calls
  void run(const WorkItem& item, PackedChunks* packed, PassFault& fault);
  RowState state() const noexcept { return {out_, max_, shift_, sum_}; }

 private:
  void reset(std::int64_t rows);
  void load_query(const WorkItem& item);
  std::int64_t block_rows(std::int64_t rows) const;
  void run_block(const WorkItem& item, const RowStep& block, PassFault& fault);
  void score(const RowStep& block);
  void run_pass(const WorkItem& item, const RowStep& block, PassFault& fault);
  void output(const WorkItem& item, const RowStep& block);
  void score_direct(const WorkItem& item, const RowStep& block);
  void output_direct(const WorkItem& item, const RowStep& block);
  bool reads_query_in_place(const WorkItem& item) const;
  const void* row_factors(const RowStep& block) const;
  MatrixView query_view(const WorkItem& item, const RowStep& block) const;
  char* row(char* base, std::int64_t r) const { return base + r * layout_.real_bytes; }
  char* out_row(std::int64_t r) const { return out_ + r * layout_.out_cols * layout_.real_bytes; }

  const ForwardCall& call_;
  const ForwardLayout& layout_;
  char* query_;
  const char* query_rows_ = nullptr;  ///< packed, or the caller's own
  char* score_;                       ///< score_rows rows; all others have q_tile_rows
  char* prob_;
  float* exact_prob_ =
      nullptr;  ///< where direct products take P, if prob_ is narrower than they do
  char* out_;
  char* max_;
  char* shift_;
  char* sum_;
  char* alpha_;
  char* column_scratch_;
  std::int64_t prob_bytes_;
  std::int64_t prob_multiple_;
  std::int64_t step_alignment_;
  KeyWalk walk_;
  ItemTiles tiles_;
  const char* chunk_ = nullptr;  ///< of the step at hand
};

}  // namespace tilewright::cpu
