#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "analyse/bound_builder.h"
#include "analyse/row_intervals.h"
#include "ir/program.h"

namespace tilewright::analyse {

/// An integer as factor * A + rest, where A is kv or floor((kv + shift) / divisor), and rest, shift
/// and divisor are values of the row. |A + rest| where is_absolute.
struct KeyForm {
  int factor = 0;  ///< -1, 0 or 1
  ir::NodeId rest = ir::kNoNode;
  ir::NodeId divisor = ir::kNoNode;
  ir::NodeId shift = ir::kNoNode;
  bool is_absolute = false;
  bool is_divided() const noexcept { return divisor != ir::kNoNode; }
};

/// Finds key forms and solves comparisons between them for kv. Remembers which conditions are
/// supposed to hold, so that guarded loads and divisions behind them count as reached.
class KeyForms {
 public:
  KeyForms(const ir::Program& program, BoundBuilder& builder);

  /// Whether the node's value, guards aside, depends on kv.
  bool depends_on_key(ir::NodeId id) const { return on_key_[id]; }
  /// The node as a value of the row; absent where it depends on kv.
  std::optional<ir::NodeId> row_value(ir::NodeId id);
  std::optional<KeyForm> of(ir::NodeId id);

  /// Ranges of kv in which left + gap <= right.
  std::optional<std::vector<KeyRange>> where_less(const KeyForm& left, const KeyForm& right,
                                                  int gap);
  std::optional<KeyRange> where_equal(const KeyForm& left, const KeyForm& right);

  void suppose(ir::NodeId condition, bool truth) { supposed_.emplace_back(condition, truth); }
  void forget() { supposed_.pop_back(); }
  /// Whether the guard of a load or division holds under what is supposed.
  bool guard_is_met(ir::NodeId id) const;

  std::vector<ir::NodeId> positive;
  std::vector<ir::NodeId> not_negative;

 private:
  struct Bounds;
  std::optional<KeyForm> sum(ir::NodeId a, ir::NodeId b, int sign);
  std::optional<KeyForm> divided(ir::NodeId id);
  KeyRange solve(const KeyForm& atom, std::optional<ir::NodeId> low,
                 std::optional<ir::NodeId> high);
  bool holds(ir::NodeId condition, bool truth) const;

  const ir::Program& program_;
  BoundBuilder& builder_;
  std::vector<bool> on_key_;
  std::vector<std::pair<ir::NodeId, bool>> supposed_;
  int steps_ = 0;
};

}  // namespace tilewright::analyse
