#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/key_steps.h"

namespace tilewright::cpu {

/// Packed keys and values of the kv heads in hand, or nothing for direct calls.
struct PackedHeads {
  const char* data = nullptr;
  std::int64_t first_unit = 0;  ///< (batch, kv head) that data starts with
};

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
  void run(const WorkItem& item, const PackedHeads& packed, PassFault& fault);
  RowState state() const noexcept { return {out_, max_, shift_, sum_}; }

 private:
  void reset(std::int64_t rows);
  void load_query(const WorkItem& item);
  void step(const WorkItem& item, const KeyStep& step, const PackedHeads& packed, PassFault& fault);
  void score(const WorkItem& item, const KeyStep& step, const PackedHeads& packed);
  void run_pass(const WorkItem& item, const KeyStep& step, PassFault& fault);
  void output(const WorkItem& item, const KeyStep& step, const PackedHeads& packed);
  void widen_prob(std::int64_t rows, std::int64_t cols);
  const void* row_factors(std::int64_t rows) const;
  const char* chunk(const WorkItem& item, const KeyStep& step, const PackedHeads& packed) const;
  MatrixView query_view(const WorkItem& item) const;
  char* row(char* base, std::int64_t r) const { return base + r * layout_.real_bytes; }

  const ForwardCall& call_;
  const ForwardLayout& layout_;
  char* query_;
  char* score_;
  char* prob_;
  char* out_;
  char* max_;
  char* shift_;
  char* sum_;
  char* alpha_;
  char* column_scratch_;
  std::int64_t prob_bytes_;
  std::int64_t prob_multiple_;
  std::int64_t step_alignment_;
  std::vector<KeyStep> steps_;
};

/// The matrix of one head: rows x columns of a [B, H, rows, columns] tensor, from `row_begin`.
MatrixView head_matrix(const TensorView& tensor, std::int64_t b, std::int64_t h, TokenRange rows);

}  // namespace tilewright::cpu
