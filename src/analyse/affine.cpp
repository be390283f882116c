#include "analyse/affine.h"

namespace tilewright::analyse {

namespace {

using Form = std::optional<Affine>;

Form combine(const Form& a, const Form& b, std::int64_t sign) {
  if (!a || !b) return std::nullopt;
  Affine sum;
  std::int64_t q_part = 0;
  std::int64_t kv_part = 0;
  if (__builtin_mul_overflow(b->q_factor, sign, &q_part) ||
      __builtin_mul_overflow(b->kv_factor, sign, &kv_part) ||
      __builtin_add_overflow(a->q_factor, q_part, &sum.q_factor) ||
      __builtin_add_overflow(a->kv_factor, kv_part, &sum.kv_factor))
    return std::nullopt;
  return sum;
}

class AffineForms {
 public:
  AffineForms(const ir::Program& program, const std::vector<Dependence>& dependence)
      : program_(program), dependence_(dependence), forms_(program.size()) {}

  std::vector<Form> run() {
    for (ir::NodeId id = 0; id < program_.size(); ++id)
      if (program_.node(id).type == ir::Type::kInt) forms_[id] = of(id);
    return std::move(forms_);
  }

 private:
  Form of(ir::NodeId id) const {
    const Dependence& on = dependence_[id];
    if (on.score) return std::nullopt;
    if (!on.q && !on.kv) return Affine{};
    const auto operands = program_.operands(id);
    switch (program_.node(id).op) {
      case ir::Op::kQuery:
        return Affine{.q_factor = 1, .kv_factor = 0};
      case ir::Op::kKey:
        return Affine{.q_factor = 0, .kv_factor = 1};
      case ir::Op::iadd:
        return combine(forms_[operands[0]], forms_[operands[1]], 1);
      case ir::Op::isub:
        return combine(forms_[operands[0]], forms_[operands[1]], -1);
      case ir::Op::ineg:
        return combine(Affine{}, forms_[operands[0]], -1);
      case ir::Op::imul:
        return scaled(operands[0], operands[1]);
      default:
        return std::nullopt;
    }
  }

  Form scaled(ir::NodeId a, ir::NodeId b) const {
    const ir::Node& left = program_.node(a);
    const ir::Node& right = program_.node(b);
    if (right.op == ir::Op::kLiteral)
      return combine(Affine{}, forms_[a], static_cast<std::int64_t>(right.payload));
    if (left.op == ir::Op::kLiteral)
      return combine(Affine{}, forms_[b], static_cast<std::int64_t>(left.payload));
    return std::nullopt;
  }

  const ir::Program& program_;
  const std::vector<Dependence>& dependence_;
  std::vector<Form> forms_;
};

}  // namespace

std::vector<std::optional<Affine>> affine(const ir::Program& program,
                                          const std::vector<Dependence>& dependence) {
  return AffineForms(program, dependence).run();
}

}  // namespace tilewright::analyse
