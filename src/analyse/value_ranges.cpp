#include "analyse/value_ranges.h"

#include <bit>

#include "analyse/interval_rules.h"

namespace tilewright::analyse {

namespace {

Interval literal_range(const ir::Node& node) {
  switch (node.type) {
    case ir::Type::kFloat:
      return single(std::bit_cast<double>(node.payload));
    case ir::Type::kInt:
      return single(static_cast<std::int64_t>(node.payload));
    case ir::Type::kBool:
      break;
  }
  return single(node.payload != 0);
}

Interval load_range(const ir::Program& program, ir::NodeId id, const std::vector<Interval>& ranges,
                    const CaptureRange& capture_range) {
  const ir::Node& node = program.node(id);
  Interval element = capture_range(static_cast<std::uint32_t>(node.payload));
  if (node.type == ir::Type::kFloat) element.real = rounded(Arithmetic::kScore, element.real);
  const TruthRange guard = ranges[program.operands(id).back()].truth;
  if (guard.is_true()) return element;
  return guard.is_false() ? zero_of(node.type) : hull(node.type, element, zero_of(node.type));
}

}  // namespace

Interval constant_range(const ir::Node& node, const ir::Bindings& bindings, Arithmetic arithmetic) {
  Interval value = literal_range(node);
  if (node.op == ir::Op::kNumber) {
    const ir::NumberValue& number = bindings.numbers[node.payload];
    value = node.type == ir::Type::kFloat ? Interval(single(number.real))
                                          : Interval(single(number.integer));
  }
  if (node.type == ir::Type::kFloat) value.real = rounded(arithmetic, value.real);
  return value;
}

Interval node_range(const ir::Program& program, const ir::Bindings& bindings, ir::NodeId id,
                    const std::vector<Interval>& ranges, const CaptureRange& capture_range) {
  const ir::Node& node = program.node(id);
  if (node.op == ir::Op::kLoad) return load_range(program, id, ranges, capture_range);
  if (ir::is_leaf(node.op)) return constant_range(node, bindings, Arithmetic::kScore);
  const auto operands = program.operands(id);
  const Interval none{};
  return apply_rule(Arithmetic::kScore, node.op, ranges[operands[0]],
                    operands.size() > 1 ? ranges[operands[1]] : none,
                    operands.size() > 2 ? ranges[operands[2]] : none);
}

std::vector<Interval> value_ranges(const ir::Program& program, const ir::Bindings& bindings,
                                   const Domain& domain, const CaptureRange& capture_range) {
  std::vector<Interval> ranges(program.size());
  for (ir::NodeId id = 0; id < program.size(); ++id) {
    switch (program.node(id).op) {
      case ir::Op::kScore:
        ranges[id] = domain.score;
        break;
      case ir::Op::kBatch:
        ranges[id] = domain.b;
        break;
      case ir::Op::kHead:
        ranges[id] = domain.h;
        break;
      case ir::Op::kQuery:
        ranges[id] = domain.q;
        break;
      case ir::Op::kKey:
        ranges[id] = domain.kv;
        break;
      default:
        ranges[id] = node_range(program, bindings, id, ranges, capture_range);
    }
  }
  return ranges;
}

}  // namespace tilewright::analyse
