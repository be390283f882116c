#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyse/value_ranges.h"
#include "ir/program.h"
#include "tilewright/problem.h"

namespace tilewright::analyse {

/// A fact with the sentence that explains it.
struct Fact {
  bool holds = false;
  std::string reason;
};

/// Inputs of a problem: b and h inside its batch and heads, q and kv inside its lengths and
/// `margin` tokens past them. Absent where a length is 0: no score exists.
std::optional<Domain> domain_of(const Problem& problem, std::int64_t margin);

/// Everything that the questions below need about one program and its bindings.
struct RangeQuestion {
  const ir::Program& program;
  const ir::Bindings& bindings;
  const CaptureRange& capture_range;
  const std::vector<Interval>& ranges;  ///< value_ranges over the domain in question
};

/// Every integer node, subscript and element offset fits int32.
Fact fits_int32(const RangeQuestion& question);

/// No subscript leaves its tensor; `live` counts only those whose guard, and in scores whose mask,
/// holds.
Fact subscripts_in_range(const RangeQuestion& question, bool live);

/// No live integer division has a divisor of 0.
Fact divisors_nonzero(const RangeQuestion& question);

/// Bounds of the finite results of the score root; absent where it has none, or none is finite.
std::optional<RealRange> score_bounds(const RangeQuestion& question);

}  // namespace tilewright::analyse
