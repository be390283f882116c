#include "analyse/assumption.h"

#include <algorithm>
#include <utility>

#include "analyse/integer_rules.h"

namespace tilewright::analyse {

using ir::NodeId;
using ir::Op;

namespace {

constexpr int kMaxAssumptionSteps = 4096;

}  // namespace

Assumption::Assumption(const ir::Program& program, const ir::Bindings& bindings,
                       const CaptureRange& capture_range, std::vector<Interval> ranges)
    : program_(program),
      bindings_(bindings),
      capture_range_(capture_range),
      base_(std::move(ranges)),
      ranges_(base_),
      assumed_(program.size(), 0),
      steps_left_(kMaxAssumptionSteps) {}

void Assumption::assume(NodeId condition, bool truth) {
  const std::uint8_t bit = truth ? 2 : 1;
  if ((assumed_[condition] & bit) != 0) return;
  assumed_[condition] |= bit;
  narrow_truth(condition, truth);
  const auto operands = program_.operands(condition);
  switch (program_.node(condition).op) {
    case Op::bnot:
      return assume(operands[0], !truth);
    case Op::band:
    case Op::bor:
      // Both sides are known only of a true conjunction and a false disjunction.
      if (truth != (program_.node(condition).op == Op::band)) return;
      assume(operands[0], truth);
      return assume(operands[1], truth);
    case Op::ilt:
      return truth ? compare(operands[0], operands[1], 1) : compare(operands[1], operands[0], 0);
    case Op::ile:
      return truth ? compare(operands[0], operands[1], 0) : compare(operands[1], operands[0], 1);
    case Op::ieq:
    case Op::ine:
      if (truth != (program_.node(condition).op == Op::ieq))
        return exclude_equal(operands[0], operands[1]);
      compare(operands[0], operands[1], 0);
      return compare(operands[1], operands[0], 0);
    default:
      return;
  }
}

/// left + gap <= right.
void Assumption::compare(NodeId left, NodeId right, std::int64_t gap) {
  const IntRange low = ranges_[left].integer;
  const IntRange high = ranges_[right].integer;
  if (high.high >= rule::kIntMin + gap) narrow(left, {rule::kIntMin, high.high - gap});
  if (low.low <= rule::kIntMax - gap) narrow(right, {low.low + gap, rule::kIntMax});
  auto difference =
      add_scaled(linear_form(program_, base_, right), linear_form(program_, base_, left), -1);
  if (difference) difference = add_scaled(*difference, {.constant = 1, .terms = {}}, -gap);
  if (difference) not_negative_.push_back(*std::move(difference));
}

void Assumption::exclude_equal(NodeId left, NodeId right) {
  const auto exclude = [this](NodeId id, IntRange value) {
    if (!value.is_single()) return;
    if (value.low == 0) not_zero_.push_back(id);
    const IntRange range = ranges_[id].integer;
    if (range == value) {
      impossible_ = true;
    } else if (range.low == value.low) {
      narrow(id, {range.low + 1, range.high});
    } else if (range.high == value.low) {
      narrow(id, {range.low, range.high - 1});
    }
  };
  exclude(left, ranges_[right].integer);
  exclude(right, ranges_[left].integer);
}

void Assumption::narrow_truth(NodeId id, bool truth) {
  TruthRange& range = ranges_[id].truth;
  if (truth ? range.is_false() : range.is_true()) impossible_ = true;
  range = single(truth);
}

void Assumption::narrow(NodeId id, IntRange to) {
  const IntRange before = ranges_[id].integer;
  const IntRange after = rule::intersect(before, to);
  if (after == before || --steps_left_ < 0) return;
  if (after.low > after.high) {
    impossible_ = true;
    return;
  }
  ranges_[id].integer = after;
  narrow_operands(id, after);
}

void Assumption::narrow_operands(NodeId id, IntRange to) {
  const auto operands = program_.operands(id);
  const auto range = [&](std::size_t i) { return ranges_[operands[i]].integer; };
  // Going backwards through a sum that may wrap would be wrong.
  if (base_[id].integer == kAnyInt) return;
  switch (program_.node(id).op) {
    case Op::iadd:
      narrow(operands[0], rule::isub(to, range(1)));
      return narrow(operands[1], rule::isub(to, range(0)));
    case Op::isub:
      narrow(operands[0], rule::iadd(to, range(1)));
      return narrow(operands[1], rule::isub(range(0), to));
    case Op::ineg:
      return narrow(operands[0], rule::ineg(to));
    case Op::imin:
      narrow(operands[0], {to.low, rule::kIntMax});
      return narrow(operands[1], {to.low, rule::kIntMax});
    case Op::imax:
      narrow(operands[0], {rule::kIntMin, to.high});
      return narrow(operands[1], {rule::kIntMin, to.high});
    case Op::ifloor_div: {
      const IntRange divisor = range(1);
      if (!divisor.is_single() || divisor.low <= 0) return;
      const IntRange scaled = rule::imul(to, divisor);
      return narrow(operands[0], rule::iadd(scaled, {0, divisor.low - 1}));
    }
    default:
      return;
  }
}

void Assumption::settle() {
  constexpr int kRounds = 2;
  for (int round = 0; round < kRounds && !impossible_; ++round)
    for (NodeId id = 0; id < program_.size(); ++id) {
      const ir::Node& node = program_.node(id);
      if (node.type != ir::Type::kInt || program_.operands(id).empty()) continue;
      narrow(id, node_range(program_, bindings_, id, ranges_, capture_range_).integer);
    }
}

IntRange Assumption::integer(NodeId id) const {
  IntRange range = ranges_[id].integer;
  const LinearForm form = linear_form(program_, base_, id);
  for (const LinearForm& positive : not_negative_) {
    // form = rest + positive, or rest - positive.
    if (const auto rest = add_scaled(form, positive, -1))
      range.low = std::max(range.low, range_of(*rest, ranges_).low);
    if (const auto rest = add_scaled(form, positive, 1))
      range.high = std::min(range.high, range_of(*rest, ranges_).high);
  }
  return range;
}

bool Assumption::excludes_zero(NodeId id) const {
  if (std::ranges::find(not_zero_, id) != not_zero_.end()) return true;
  return !integer(id).contains(0);
}

}  // namespace tilewright::analyse
