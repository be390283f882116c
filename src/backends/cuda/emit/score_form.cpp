#include "backends/cuda/emit/score_form.h"

#include <bit>
#include <cmath>

namespace tilewright::cuda {

using ir::NodeId;
using ir::Op;

namespace {

constexpr int kMaxDepth = 24;
constexpr const char* kLog2e = "1.44269504f";

/// Empty stands for 1.
std::string times(const std::string& a, const std::string& b) {
  if (a.empty() || a == "1.0f") return b;
  return b.empty() || b == "1.0f" ? a : "(" + a + " * " + b + ")";
}

std::string plus(const std::string& a, const std::string& b) {
  if (a.empty()) return b;
  return b.empty() ? a : "(" + a + " + " + b + ")";
}

/// The form's value without offset, factor and so on told apart.
std::string plain(const ScoreForm& form) {
  std::string text;
  if (form.atom == "score")
    text = times("at.product", times("at.scale", form.factor));
  else if (!form.atom.empty())
    text = times(form.atom, form.factor);
  text = plus(text, form.base);
  if (!form.slope.empty()) text = plus(text, times(form.slope, "at.pair.offset"));
  text = plus(text, form.rest);
  return text.empty() ? "0.0f" : text;
}

bool is_minus_infinity(const ir::Node& node) {
  return node.op == Op::kLiteral && node.type == ir::Type::kFloat &&
         std::bit_cast<double>(node.payload) == -HUGE_VAL;
}

}  // namespace

std::string ScoreForms::exponent(NodeId id, int depth) {
  const ir::Node& node = plan_.program.node(id);
  if (is_minus_infinity(node)) return "ptx::float_of(0xff800000u)";
  const bool splits = node.op == Op::fselect && plan_.depends_on_score(id) && depth < 4;
  if (splits) {
    const auto operands = plan_.program.operands(id);
    const std::string condition = body_.value(operands[0]);
    const std::string yes = exponent(operands[1], depth + 1);
    return "(" + condition + " ? " + yes + " : " + exponent(operands[2], depth + 1) + ")";
  }
  const ScoreForm found = form(id, 0);
  std::string addend = "at.minus_reference";
  if (!found.base.empty()) addend = plus(times(found.base, kLog2e), addend);
  if (!found.slope.empty())
    addend = plus(times(times(found.slope, kLog2e), "at.pair.offset"), addend);
  if (!found.rest.empty()) addend = plus(times(found.rest, kLog2e), addend);
  if (found.atom.empty()) return addend;
  const bool is_score = found.atom == "score";
  const std::string factor = times(is_score ? "at.scale_log2" : kLog2e, found.factor);
  return plus(times(is_score ? "at.product" : found.atom, factor), addend);
}

std::string ScoreForms::value(NodeId id) { return plain(form(id, 0)); }

ScoreForm ScoreForms::opaque(NodeId id, int depth) {
  if (plan_.depends_on_score(id)) {
    fold_operands(id, depth);
    return {.atom = body_.score_value(id)};
  }
  if (is_uniform(id)) return {.base = body_.score_value(id)};
  return {.rest = body_.score_value(id)};
}

/// Folds what a function's operands are affine in before the function takes them.
void ScoreForms::fold_operands(NodeId id, int depth) {
  if (plan_.in_mask[id] || depth > kMaxDepth) return;
  for (const NodeId operand : plan_.program.operands(id)) {
    const bool folds = plan_.depends_on_score(operand) && !plan_.in_mask[operand] &&
                       plan_.program.node(operand).type == ir::Type::kFloat &&
                       !body_.knows(operand) && plan_.program.node(operand).op != Op::kScore;
    if (!folds) continue;
    const std::string text = plain(form(operand, depth + 1));
    if (!body_.knows(operand)) body_.define(operand, text);
  }
}

ScoreForm ScoreForms::form(NodeId id, int depth) {
  if (plan_.in_mask[id] || is_uniform(id) || depth > kMaxDepth) return opaque(id, depth);
  const auto operands = plan_.program.operands(id);
  switch (plan_.program.node(id).op) {
    case Op::kScore:
      return {.atom = "score"};
    case Op::add:
      return sum(form(operands[0], depth + 1), form(operands[1], depth + 1));
    case Op::sub:
      return sum(form(operands[0], depth + 1), scaled(form(operands[1], depth + 1), "-1.0f", true));
    case Op::neg:
      return scaled(form(operands[0], depth + 1), "-1.0f", true);
    case Op::mul:
      return product(id, depth + 1);
    case Op::div:
      return quotient(id, depth + 1);
    case Op::int_to_float:
      return free_form(id, depth);
    default:
      return opaque(id, depth);
  }
}

/// An integer that is affine in kv: its value at the first key, and a step per key.
ScoreForm ScoreForms::free_form(NodeId id, int depth) {
  const NodeId integer = plan_.program.operands(id)[0];
  const auto& affine = plan_.facts.affine[integer];
  if (!affine || affine->kv_factor == 0) return opaque(id, depth);
  const std::int64_t step = affine->kv_factor;
  constexpr std::int64_t kExact = std::int64_t{1} << 24;
  if (step > kExact || step < -kExact) return opaque(id, depth);
  return {.base = "static_cast<float>(" + at_first_key_.value(integer) + ")",
          .slope = step == 1 ? "1.0f" : std::to_string(step) + ".0f"};
}

ScoreForm ScoreForms::sum(const ScoreForm& a, const ScoreForm& b) const {
  ScoreForm all = a.atom.empty() ? b : a;
  const ScoreForm& other = a.atom.empty() ? a : b;
  all.base = plus(all.base, other.base);
  all.slope = plus(all.slope, other.slope);
  all.rest = plus(all.rest, other.rest);
  if (!other.atom.empty()) all.rest = plus(all.rest, times(other.atom, other.factor));
  return all;
}

ScoreForm ScoreForms::scaled(const ScoreForm& form, const std::string& by, bool is_uniform) const {
  ScoreForm all = form;
  if (!form.atom.empty()) all.factor = times(form.factor, by);
  if (!form.rest.empty()) all.rest = times(form.rest, by);
  if (is_uniform) {
    if (!form.base.empty()) all.base = times(form.base, by);
    if (!form.slope.empty()) all.slope = times(form.slope, by);
    return all;
  }
  ScoreForm ends = {.base = form.base, .slope = form.slope};
  if (!ends.base.empty() || !ends.slope.empty())
    all.rest = plus(all.rest, times("(" + plain(ends) + ")", by));
  all.base = all.slope = "";
  return all;
}

ScoreForm ScoreForms::product(NodeId id, int depth) {
  const auto operands = plan_.program.operands(id);
  for (const int factor : {1, 0}) {
    const NodeId by = operands[static_cast<std::size_t>(factor)];
    const NodeId other = operands[static_cast<std::size_t>(1 - factor)];
    if (plan_.depends_on_score(by)) continue;
    if (!is_uniform(by) && !plan_.depends_on_score(other) && is_uniform(other)) continue;
    return scaled(form(other, depth), body_.score_value(by), is_uniform(by));
  }
  return opaque(id, depth);
}

ScoreForm ScoreForms::quotient(NodeId id, int depth) {
  const auto operands = plan_.program.operands(id);
  // A divisor of each score of its own is better served by the division itself.
  if (!is_uniform(operands[1])) return opaque(id, depth);
  const std::string inverse = "S::div(1.0f, " + body_.score_value(operands[1]) + ")";
  return scaled(form(operands[0], depth), inverse, true);
}

}  // namespace tilewright::cuda
