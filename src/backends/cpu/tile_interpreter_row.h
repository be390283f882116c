#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/score_pass.h"
#include "ir/program.h"

namespace tilewright::cpu {

/// Most columns that are evaluated at once.
inline constexpr std::int64_t kInterpreterColumns = 256;

/// Consecutive columns of one row: where they lie and what their loads read.
struct RowChunk {
  const PassCall* call = nullptr;
  const PassTile* tile = nullptr;
  std::int64_t q = 0;
  std::int64_t kv = 0;  ///< of the first column
  std::int64_t count = 0;
};

/// Values of every node over the columns of a chunk, computed node by node in the float type F
/// (float or double). Arithmetic is that of ir::Interpreter.
template <class F>
class RowInterpreter {
 public:
  explicit RowInterpreter(const ir::Program& program);

  /// Computes the nodes that `wanted` names, `scores` being the scaled scores. Faults of columns
  /// where `live` is true go to the tile's fault; a null `live` means every column.
  void evaluate(const RowChunk& chunk, const std::vector<bool>& wanted, const F* scores,
                const bool* live);

  const F* reals(ir::NodeId id) const { return &reals_[at(id)]; }
  const std::int64_t* integers(ir::NodeId id) const { return &integers_[at(id)]; }
  const bool* truths(ir::NodeId id) const {
    return reinterpret_cast<const bool*>(&truths_[at(id)]);
  }

 private:
  std::size_t at(ir::NodeId id) const { return std::size_t{id} * kInterpreterColumns; }
  bool* truths(ir::NodeId id) { return reinterpret_cast<bool*>(&truths_[at(id)]); }

  void evaluate_leaf(const RowChunk& chunk, ir::NodeId id, const F* scores);
  void evaluate_row(const RowChunk& chunk, ir::NodeId id);
  void fill(const RowChunk& chunk, ir::NodeId id, double real, std::int64_t integer);
  void fill_integers(const RowChunk& chunk, ir::NodeId id, std::int64_t first, std::int64_t step);
  void load(const RowChunk& chunk, ir::NodeId id, const bool* live);
  std::int64_t element_offset(const RowChunk& chunk, ir::NodeId id, std::int64_t column) const;
  void report_zero_divisors(const RowChunk& chunk, ir::NodeId id, const bool* live) const;

  const ir::Program& program_;
  std::vector<F> reals_;
  std::vector<std::int64_t> integers_;
  std::vector<unsigned char> truths_;
};

extern template class RowInterpreter<float>;
extern template class RowInterpreter<double>;

}  // namespace tilewright::cpu
