#pragma once

#include "analyse/interval.h"

namespace tilewright::analyse {

/// The range of one row of ops.def over ranges of its operands; unused operands are ignored. A load
/// or leaf is not a row.
Interval apply_rule(Arithmetic arithmetic, ir::Op op, const Interval& a, const Interval& b,
                    const Interval& c);

/// The range of a number or table entry in this arithmetic.
RealRange rounded(Arithmetic arithmetic, RealRange range);

}  // namespace tilewright::analyse
