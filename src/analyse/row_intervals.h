#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"

namespace tilewright::analyse {

/// Stands for "no bound" in a KeyRange: far outside every position, and safe to add to.
inline constexpr std::int64_t kUnboundedKey = std::int64_t{1} << 61;

/// Keys begin <= kv < end of one query row; empty where begin >= end. Both are integer nodes of
/// RowIntervals::program that depend on b, h and q only.
struct KeyRange {
  ir::NodeId begin = ir::kNoNode;
  ir::NodeId end = ir::kNoNode;
};

/// Keys whose entry of a table that ascends along one axis equals a value of the row:
/// `table[.., kv + shift, ..] == value`. They are one range, found by search.
struct SortedRun {
  std::uint32_t capture = 0;
  std::size_t axis = 0;             ///< the axis that kv subscripts
  std::vector<ir::NodeId> indices;  ///< one per axis; that of `axis` is unused
  ir::NodeId shift = ir::kNoNode;
  ir::NodeId value = ir::kNoNode;
  ir::NodeId begin = ir::kNoNode;  ///< a number slot of `program`: the search puts its result there
  ir::NodeId end = ir::kNoNode;
};

/// mask_mod as a few half-open ranges of keys per query row: a pair is live iff kv lies in one of
/// them. Ranges of one row may overlap.
struct RowIntervals {
  /// The mask's program with nodes appended: same captures; numbers first, then two slots a run.
  /// Loads of the appended part are unguarded: where a subscript leaves the tensor they read 0.
  ir::Program program;
  std::vector<KeyRange> ranges;
  std::vector<SortedRun> runs;
  /// The ranges hold only where these hold for the whole problem, besides no integer wrapping and
  /// every run's table ascending: nodes > 0, nodes >= 0.
  std::vector<ir::NodeId> positive;
  std::vector<ir::NodeId> not_negative;
};

/// Derives row intervals from and/or/not of comparisons that are affine in kv with factor 1 or -1,
/// |q - kv| against a row's value, kv // c, sorted tables and conditions of the row alone. Absent
/// for a program without mask_mod or of another form.
std::optional<RowIntervals> row_intervals(const ir::Program& program);

/// One line a range, for explain.
std::string to_text(const RowIntervals& intervals);

}  // namespace tilewright::analyse
