#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyse/interval.h"
#include "ir/program.h"

namespace tilewright::analyse {

/// An integer as constant + sum of factor * node over nodes that are no sums themselves, so that
/// two nodes can be compared symbolically.
struct LinearForm {
  struct Term {
    ir::NodeId node;
    std::int64_t factor;
  };
  std::int64_t constant = 0;
  std::vector<Term> terms;  ///< by ascending node, no factor 0
};

/// The form of a node. Sums are opened only where `ranges` proves that they do not wrap; nodes of
/// known value become constants.
LinearForm linear_form(const ir::Program& program, const std::vector<Interval>& ranges,
                       ir::NodeId id);

/// a + factor * b; absent where a factor leaves 64 bits or the form grows past a few terms.
std::optional<LinearForm> add_scaled(const LinearForm& a, const LinearForm& b, std::int64_t factor);

/// Range of a form from the ranges of its nodes; everything where it may leave 64 bits.
IntRange range_of(const LinearForm& form, const std::vector<Interval>& ranges);

}  // namespace tilewright::analyse
