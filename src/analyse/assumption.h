#pragma once

#include <cstdint>
#include <vector>

#include "analyse/linear_form.h"
#include "analyse/value_ranges.h"
#include "ir/program.h"

namespace tilewright::analyse {

/// Ranges of a program's nodes under conditions that are known to hold: the guard of a subscript,
/// the mask of a score. Narrows backwards through comparisons and sums, then forwards again, and
/// compares sums symbolically (`q - kv` under `q >= kv`).
class Assumption {
 public:
  /// `ranges` are the unconditional ones.
  Assumption(const ir::Program& program, const ir::Bindings& bindings,
             const CaptureRange& capture_range, std::vector<Interval> ranges);

  /// Adds a condition. Call settle() after the last one.
  void assume(ir::NodeId condition, bool truth);
  void settle();

  /// No inputs satisfy the conditions: whatever they guard is never reached.
  bool is_impossible() const noexcept { return impossible_; }
  /// Range of an integer node under the conditions.
  IntRange integer(ir::NodeId id) const;
  /// Whether the conditions exclude 0.
  bool excludes_zero(ir::NodeId id) const;

 private:
  void compare(ir::NodeId left, ir::NodeId right, std::int64_t gap);
  void exclude_equal(ir::NodeId left, ir::NodeId right);
  void narrow(ir::NodeId id, IntRange to);
  void narrow_operands(ir::NodeId id, IntRange to);
  void narrow_truth(ir::NodeId id, bool truth);

  const ir::Program& program_;
  const ir::Bindings& bindings_;
  const CaptureRange& capture_range_;
  std::vector<Interval> base_;
  std::vector<Interval> ranges_;
  std::vector<LinearForm> not_negative_;  ///< forms that are >= 0
  std::vector<ir::NodeId> not_zero_;
  std::vector<std::uint8_t> assumed_;  ///< bit 0: known false, bit 1: known true
  int steps_left_;  ///< narrowing is worth a bounded effort: without it ranges are only wider
  bool impossible_ = false;
};

}  // namespace tilewright::analyse
