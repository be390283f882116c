#include "analyse/tile_reason.h"

namespace tilewright::analyse {

using ir::Op;

namespace {

std::string text(ir::Type type, const Interval& value) {
  switch (type) {
    case ir::Type::kFloat:
      return "[" + std::to_string(value.real.low) + ", " + std::to_string(value.real.high) + "]" +
             (value.real.nan ? " or NaN" : "");
    case ir::Type::kInt:
      return "[" + std::to_string(value.integer.low) + ", " + std::to_string(value.integer.high) +
             "]";
    case ir::Type::kBool:
      break;
  }
  if (value.truth.is_true()) return "always true";
  return value.truth.is_false() ? "always false" : "true or false";
}

class ReasonFinder {
 public:
  ReasonFinder(const ir::Program& program, const MaskTape& tape, const TapeEvaluator& evaluator)
      : program_(program), tape_(tape), evaluator_(evaluator) {}

  /// Follows the operand that decides an and, or, not down to a row that is none of them.
  std::string of(MaskTape::Operand operand) const {
    while (operand >= 0) {
      const MaskTape::Instruction& at = tape_.instructions[static_cast<std::size_t>(operand)];
      if (at.op == Op::bnot)
        operand = at.a;
      else if (at.op == Op::band || at.op == Op::bor)
        operand = deciding(at);
      else
        return row_text(at);
    }
    return "a constant, " + text(ir::Type::kBool, evaluator_.value(operand));
  }

 private:
  MaskTape::Operand deciding(const MaskTape::Instruction& at) const {
    const TruthRange left = evaluator_.value(at.a).truth;
    const TruthRange right = evaluator_.value(at.b).truth;
    // One side decides a false conjunction or a true disjunction; otherwise the open one is shown.
    const bool decided_by_left = at.op == Op::band ? left.is_false() : left.is_true();
    if (decided_by_left) return at.a;
    const bool decided_by_right = at.op == Op::band ? right.is_false() : right.is_true();
    if (decided_by_right) return at.b;
    const bool left_is_open = left.can_be_false && left.can_be_true;
    return left_is_open ? at.a : at.b;
  }

  std::string row_text(const MaskTape::Instruction& at) const {
    std::string line = "%" + std::to_string(at.node) + " ";
    const auto result = text(
        at.type, evaluator_.value(static_cast<MaskTape::Operand>(&at - &tape_.instructions[0])));
    if (at.op == Op::kLoad)
      return line + "load of '" + program_.captures()[program_.node(at.node).payload].name + "' " +
             result;
    if (ir::is_leaf(at.op)) return line + "input " + result;
    const ir::OpRow& op_row = ir::row(at.op);
    line += std::string(op_row.fn) + "(";
    const MaskTape::Operand operands[] = {at.a, at.b, at.c};
    for (std::size_t i = 0; i < op_row.written_operands(); ++i) {
      if (i != 0) line += ", ";
      line += text(ir::type_of(op_row.signature[i]), evaluator_.value(operands[i]));
    }
    return line + ") is " + result;
  }

  const ir::Program& program_;
  const MaskTape& tape_;
  const TapeEvaluator& evaluator_;
};

}  // namespace

std::string tile_reason(const ir::Program& program, const MaskTape& tape,
                        const TapeEvaluator& evaluator) {
  return ReasonFinder(program, tape, evaluator).of(tape.results.front());
}

}  // namespace tilewright::analyse
