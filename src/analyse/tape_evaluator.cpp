#include "analyse/tape_evaluator.h"

#include "analyse/integer_rules.h"
#include "analyse/interval_rules.h"
#include "analyse/truth_rules.h"

namespace tilewright::analyse {

using ir::Op;

namespace {

/// The entries that a subscript can name after the wrap of negative ones.
struct Subscripts {
  IntRange entries{0, 0};
  bool may_leave = false;
  bool always_leaves = false;
};

Subscripts wrapped(IntRange written, std::int64_t extent) {
  Subscripts result;
  result.may_leave = written.low < -extent || written.high >= extent;
  const IntRange valid = rule::intersect(written, {-extent, extent - 1});
  result.always_leaves = valid.low > valid.high;
  if (valid.low >= 0)
    result.entries = valid;
  else if (valid.high < 0)
    result.entries = {valid.low + extent, valid.high + extent};
  else
    result.entries = {0, extent - 1};
  return result;
}

}  // namespace

TapeEvaluator::TapeEvaluator(const MaskTape& tape) : tape_(tape), slots_(inline_slots_.data()) {
  if (tape.instructions.size() <= kInlineSlots) return;
  more_slots_ = std::make_unique<Interval[]>(tape.instructions.size());
  slots_ = more_slots_.get();
}

void TapeEvaluator::set_head(std::int64_t b, std::int64_t h) {
  b_ = b;
  h_ = h;
  head_may_fault_ = run(0, tape_.row_begin);
}

void TapeEvaluator::set_rows(IntRange q) {
  q_ = q;
  rows_may_fault_ = run(tape_.row_begin, tape_.key_begin);
}

TruthRange TapeEvaluator::over_keys(IntRange kv) {
  kv_ = kv;
  const bool keys_may_fault = run(tape_.key_begin, tape_.instructions.size());
  // A pair that faults must be met one by one, or nobody would raise its error (semantics R8, R9).
  if (head_may_fault_ || rows_may_fault_ || keys_may_fault) return kAnyTruth;
  return value(tape_.results.front()).truth;
}

bool TapeEvaluator::run(std::size_t begin, std::size_t end) {
  const MaskTape::Instruction* const first = tape_.instructions.data();
  may_fault_ = false;
  for (std::size_t i = begin; i < end; ++i) slots_[i] = row(first[i]);
  return may_fault_;
}

/// The rows of common masks are met here; all others are looked up by apply_rule.
inline Interval TapeEvaluator::row(const MaskTape::Instruction& at) {
  switch (at.op) {
    case Op::kBatch:
      return single(b_);
    case Op::kHead:
      return single(h_);
    case Op::kQuery:
      return q_;
    case Op::kKey:
      return kv_;
    case Op::kLoad:
      return load(at);
    case Op::kNumber:
      return single(row_numbers_[static_cast<std::size_t>(at.load)]);
    case Op::iadd:
      return rule::iadd(value(at.a).integer, value(at.b).integer);
    case Op::isub:
      return rule::isub(value(at.a).integer, value(at.b).integer);
    case Op::ilt:
      return rule::ilt(value(at.a).integer, value(at.b).integer);
    case Op::ile:
      return rule::ile(value(at.a).integer, value(at.b).integer);
    case Op::ieq:
      return rule::ieq(value(at.a).integer, value(at.b).integer);
    case Op::band:
      return rule::band(value(at.a).truth, value(at.b).truth);
    case Op::bor:
      return rule::bor(value(at.a).truth, value(at.b).truth);
    case Op::ifloor_div:
    case Op::ifloor_mod:
    case Op::itrunc_div:
    case Op::itrunc_mod:
      may_fault_ |= value(at.b).integer.contains(0) && value(at.c).truth.can_be_true;
      [[fallthrough]];
    default:
      return apply_rule(tape_.arithmetic, at.op, value(at.a), value(at.b), value(at.c));
  }
}

Interval TapeEvaluator::load(const MaskTape::Instruction& at) {
  const MaskTape::Load& load = tape_.loads[static_cast<std::size_t>(at.load)];
  const TruthRange guard = value(load.guard).truth;
  const Interval zero = zero_of(at.type);
  if (guard.is_false()) return zero;
  std::array<IntRange, Dims::kMaxRank> box;
  bool may_be_zero = guard.can_be_false;
  for (std::size_t axis = 0; axis < load.indices.size(); ++axis) {
    const Subscripts subscripts =
        wrapped(value(load.indices[axis]).integer, load.view->shape[axis]);
    may_fault_ |= subscripts.may_leave;
    if (subscripts.always_leaves) return any(at.type);
    may_be_zero |= subscripts.may_leave;
    box[axis] = subscripts.entries;
  }
  const Interval element = load.bounds->over({box.data(), load.indices.size()});
  return may_be_zero ? hull(at.type, element, zero) : element;
}

}  // namespace tilewright::analyse
