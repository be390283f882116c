#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analyse/interval.h"
#include "ir/program.h"

namespace tilewright::analyse {

/// Ranges of a program's inputs.
struct Domain {
  IntRange b{0, 0};
  IntRange h{0, 0};
  IntRange q{0, 0};
  IntRange kv{0, 0};
  RealRange score = kAnyReal;
};

/// What the elements of a captured tensor can be.
using CaptureRange = std::function<Interval(std::uint32_t capture)>;

/// The range of every node over the whole domain. Loads and divisions behind a guard that can be
/// false include 0.
std::vector<Interval> value_ranges(const ir::Program& program, const ir::Bindings& bindings,
                                   const Domain& domain, const CaptureRange& capture_range);

/// The range of one node from those of its operands.
Interval node_range(const ir::Program& program, const ir::Bindings& bindings, ir::NodeId id,
                    const std::vector<Interval>& ranges, const CaptureRange& capture_range);

/// The range of a literal or bound number.
Interval constant_range(const ir::Node& node, const ir::Bindings& bindings, Arithmetic arithmetic);

}  // namespace tilewright::analyse
