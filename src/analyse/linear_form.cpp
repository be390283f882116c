#include "analyse/linear_form.h"

#include "analyse/integer_rules.h"

namespace tilewright::analyse {

namespace {

constexpr std::size_t kMaxTerms = 8;
constexpr int kMaxDepth = 10;

LinearForm atom(ir::NodeId id) { return {.constant = 0, .terms = {{.node = id, .factor = 1}}}; }

class FormBuilder {
 public:
  FormBuilder(const ir::Program& program, const std::vector<Interval>& ranges)
      : program_(program), ranges_(ranges) {}

  LinearForm of(ir::NodeId id, int depth) const {
    const IntRange range = ranges_[id].integer;
    if (range.is_single()) return {.constant = range.low, .terms = {}};
    // A sum that may wrap has the range of everything.
    if (depth == kMaxDepth || range == kAnyInt) return atom(id);
    return opened(id, depth + 1).value_or(atom(id));
  }

 private:
  std::optional<LinearForm> opened(ir::NodeId id, int depth) const {
    const auto operands = program_.operands(id);
    switch (program_.node(id).op) {
      case ir::Op::iadd:
        return add_scaled(of(operands[0], depth), of(operands[1], depth), 1);
      case ir::Op::isub:
        return add_scaled(of(operands[0], depth), of(operands[1], depth), -1);
      case ir::Op::ineg:
        return add_scaled({}, of(operands[0], depth), -1);
      case ir::Op::imul: {
        const IntRange left = ranges_[operands[0]].integer;
        const IntRange right = ranges_[operands[1]].integer;
        if (left.is_single()) return add_scaled({}, of(operands[1], depth), left.low);
        if (right.is_single()) return add_scaled({}, of(operands[0], depth), right.low);
        return std::nullopt;
      }
      default:
        return std::nullopt;
    }
  }

  const ir::Program& program_;
  const std::vector<Interval>& ranges_;
};

}  // namespace

LinearForm linear_form(const ir::Program& program, const std::vector<Interval>& ranges,
                       ir::NodeId id) {
  return FormBuilder(program, ranges).of(id, 0);
}

std::optional<LinearForm> add_scaled(const LinearForm& a, const LinearForm& b,
                                     std::int64_t factor) {
  LinearForm sum;
  std::int64_t part = 0;
  if (__builtin_mul_overflow(b.constant, factor, &part) ||
      __builtin_add_overflow(a.constant, part, &sum.constant))
    return std::nullopt;
  auto left = a.terms.begin();
  auto right = b.terms.begin();
  while (left != a.terms.end() || right != b.terms.end()) {
    const bool take_left =
        right == b.terms.end() || (left != a.terms.end() && left->node <= right->node);
    const bool take_right =
        left == a.terms.end() || (right != b.terms.end() && right->node <= left->node);
    LinearForm::Term term{.node = take_left ? left->node : right->node, .factor = 0};
    if (take_right && __builtin_mul_overflow(right->factor, factor, &part)) return std::nullopt;
    if (__builtin_add_overflow(take_left ? left->factor : 0, take_right ? part : 0, &term.factor))
      return std::nullopt;
    left += take_left ? 1 : 0;
    right += take_right ? 1 : 0;
    if (term.factor != 0) sum.terms.push_back(term);
  }
  if (sum.terms.size() > kMaxTerms) return std::nullopt;
  return sum;
}

IntRange range_of(const LinearForm& form, const std::vector<Interval>& ranges) {
  IntRange total = single(form.constant);
  for (const LinearForm::Term& term : form.terms)
    total = rule::iadd(total, rule::imul(ranges[term.node].integer, single(term.factor)));
  return total;
}

}  // namespace tilewright::analyse
