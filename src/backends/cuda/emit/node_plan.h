#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyse/facts.h"
#include "analyse/row_intervals.h"
#include "backends/contract/backend.h"
#include "ir/program.h"

namespace tilewright::cuda {

/// Where the emitted mods compute a node: once an item, query row, key column, diagonal i - j, or
/// score. The members of mods_contract.cuh of the same names hold what deeper scopes read.
enum class Scope : std::uint8_t { kHead, kRow, kColumn, kDiagonal, kScore };

/// Everything that is decided about a program's nodes before text is written.
struct NodePlan {
  /// The program, or that of its row intervals: the same nodes first.
  ir::Program program;
  analyse::StructureFacts facts;
  backends::Variant variant;
  ir::NodeId first_appended = 0;  ///< nodes from here on are bounds of intervals, in 64 bits
  /// Row intervals that kernels may use instead of the mask.
  std::optional<analyse::RowIntervals> intervals;

  std::vector<bool> in_mask;   ///< computed in the arithmetic of the mask
  std::vector<bool> in_score;  ///< needed by score_mod
  std::vector<Scope> scope;
  std::vector<bool> stored;  ///< a member of its scope's struct

  bool depends_on_score(ir::NodeId id) const { return facts.dependence[id].score; }
  /// float nodes of a mask that reads fp64
  bool is_double(ir::NodeId id) const { return in_mask[id] && program.mask_is_f64(); }
  bool has_mask() const { return program.roots().mask.has_value(); }
  /// A score_mod that is more than the score itself.
  bool has_score() const;
  /// Intervals that hold in tiles in which tables ascend.
  bool has_sorted_runs() const { return intervals && !intervals->runs.empty(); }

  /// A number slot that stands for a bound of a sorted run.
  struct RunBound {
    std::size_t run;
    bool is_end;
  };
  std::optional<RunBound> run_bound(ir::NodeId id) const;
};

/// Loads, and divisions of integers: the nodes that have a guard.
bool can_fail(const ir::Node& node);

NodePlan plan_nodes(const backends::EmitRequest& request);

}  // namespace tilewright::cuda
