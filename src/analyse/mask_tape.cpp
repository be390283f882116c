#include "analyse/mask_tape.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analyse/interval_rules.h"
#include "analyse/value_ranges.h"

namespace tilewright::analyse {

using ir::NodeId;
using ir::Op;

namespace {

/// Together the pyramids of one mask stay below this; a mask without them is classified more
/// coarsely, never wrongly.
constexpr std::size_t kPyramidBudgetBytes = std::size_t{256} << 20;

class TapeBuilder {
 public:
  TapeBuilder(const ir::Program& program, const ir::Bindings& bindings,
              std::size_t first_row_number)
      : program_(program),
        bindings_(bindings),
        first_row_number_(first_row_number),
        sections_(program.size(), 0),
        operand_(program.size(), 0) {
    for (NodeId id = 0; id < program.size(); ++id) sections_[id] = section(id);
    tape_.constants.push_back(single(std::int64_t{0}));
    tape_.arithmetic = program.mask_is_f64() ? Arithmetic::kMaskF64 : Arithmetic::kMaskF32;
  }

  MaskTape run(std::span<const NodeId> results) {
    std::vector<bool> reachable(program_.size(), false);
    for (NodeId result : results) {
      const std::vector<bool> more = program_.reachable_from(result);
      for (NodeId id = 0; id < program_.size(); ++id) reachable[id] = reachable[id] || more[id];
    }
    for (int at = 0; at < 3; ++at) {
      if (at == 1) tape_.row_begin = tape_.instructions.size();
      if (at == 2) tape_.key_begin = tape_.instructions.size();
      for (NodeId id = 0; id < program_.size(); ++id)
        if (reachable[id] && sections_[id] == at) append(id);
    }
    for (NodeId result : results) tape_.results.push_back(operand_[result]);
    return std::move(tape_);
  }

 private:
  bool is_row_number(NodeId id) const {
    const ir::Node& node = program_.node(id);
    return node.op == Op::kNumber && node.payload >= first_row_number_;
  }

  /// 0: on b and h at most, 1: on the row, 2: on the key.
  int section(NodeId id) const {
    const Op op = program_.node(id).op;
    int found = op == Op::kKey ? 2 : 0;
    if (op == Op::kQuery || is_row_number(id)) found = 1;
    for (NodeId operand : program_.operands(id)) found = std::max(found, sections_[operand]);
    return found;
  }

  void append(NodeId id) {
    const ir::Node& node = program_.node(id);
    const bool is_constant =
        node.op == Op::kLiteral || (node.op == Op::kNumber && !is_row_number(id));
    if (is_constant) return fold(id, constant_range(node, bindings_, tape_.arithmetic));
    if (const auto known = same_operands(id)) return fold(id, *known);
    if (!ir::is_leaf(node.op) && all_constant(id)) return fold(id, folded_row(id));

    MaskTape::Instruction instruction{.op = node.op, .type = node.type, .node = id};
    const auto operands = program_.operands(id);
    if (node.op == Op::kLoad) {
      instruction.load = add_load(id);
    } else if (node.op == Op::kNumber) {
      instruction.load = static_cast<std::int32_t>(node.payload - first_row_number_);
    } else {
      if (!operands.empty()) instruction.a = operand_[operands[0]];
      if (operands.size() > 1) instruction.b = operand_[operands[1]];
      if (operands.size() > 2) instruction.c = operand_[operands[2]];
    }
    operand_[id] = static_cast<MaskTape::Operand>(tape_.instructions.size());
    tape_.instructions.push_back(instruction);
  }

  void fold(NodeId id, const Interval& value) {
    operand_[id] = ~static_cast<MaskTape::Operand>(tape_.constants.size());
    tape_.constants.push_back(value);
  }

  bool all_constant(NodeId id) const {
    for (NodeId operand : program_.operands(id))
      if (operand_[operand] >= 0) return false;
    return true;
  }

  Interval folded_row(NodeId id) const {
    const auto operands = program_.operands(id);
    const auto value = [&](std::size_t i) {
      if (i >= operands.size()) return Interval{};
      const auto constant = ~operand_[operands[i]];
      return tape_.constants[static_cast<std::size_t>(constant)];
    };
    return apply_rule(tape_.arithmetic, program_.node(id).op, value(0), value(1), value(2));
  }

  /// What a row of one operand twice gives, which ranges alone cannot see.
  std::optional<Interval> same_operands(NodeId id) const {
    const auto operands = program_.operands(id);
    if (operands.size() != 2 || operands[0] != operands[1]) return std::nullopt;
    switch (program_.node(id).op) {
      case Op::isub:
      case Op::ixor:
        return single(std::int64_t{0});
      case Op::ieq:
      case Op::ile:
        return single(true);
      case Op::ine:
      case Op::ilt:
        return single(false);
      default:
        return std::nullopt;
    }
  }

  std::int32_t add_load(NodeId id) {
    const auto capture = static_cast<std::uint32_t>(program_.node(id).payload);
    const auto operands = program_.operands(id);
    MaskTape::Load load;
    load.view = &bindings_.captures[capture];
    for (std::size_t axis = 0; axis + 1 < operands.size(); ++axis)
      load.indices.push_back(operand_[operands[axis]]);
    load.guard = operand_[operands.back()];
    load.bounds = table(capture, widest_axis(id));
    tape_.loads.push_back(std::move(load));
    return static_cast<std::int32_t>(tape_.loads.size() - 1);
  }

  /// The last axis whose subscript moves with q or kv, else with b or h.
  std::size_t widest_axis(NodeId id) const {
    const auto operands = program_.operands(id);
    std::size_t widest = operands.size() > 1 ? operands.size() - 2 : 0;
    bool found = false;
    for (std::size_t axis = operands.size() - 1; axis-- > 0 && !found;) {
      found = sections_[operands[axis]] > 0;
      if (found) widest = axis;
    }
    return widest;
  }

  const TableBounds* table(std::uint32_t capture, std::size_t axis) {
    const auto [position, inserted] = table_of_.try_emplace({capture, axis}, nullptr);
    if (!inserted) return position->second;
    tape_.tables.push_back(
        std::make_unique<TableBounds>(bindings_.captures[capture], axis, pyramid_bytes_left_));
    const std::size_t bytes = tape_.tables.back()->bytes_at_most();
    if (bytes <= pyramid_bytes_left_) pyramid_bytes_left_ -= bytes;
    return position->second = tape_.tables.back().get();
  }

  const ir::Program& program_;
  const ir::Bindings& bindings_;
  std::size_t first_row_number_;
  std::vector<int> sections_;
  std::vector<MaskTape::Operand> operand_;
  std::map<std::pair<std::uint32_t, std::size_t>, const TableBounds*> table_of_;
  std::size_t pyramid_bytes_left_ = kPyramidBudgetBytes;
  MaskTape tape_;
};

}  // namespace

std::size_t MaskTape::bytes() const noexcept {
  std::size_t total = sizeof *this + instructions.size() * sizeof(Instruction) +
                      constants.size() * sizeof(Interval);
  for (const auto& table : tables) total += table->bytes();
  return total;
}

MaskTape mask_tape(const ir::Program& program, const ir::Bindings& bindings) {
  const NodeId mask = *program.roots().mask;
  return TapeBuilder(program, bindings, program.numbers().size()).run({&mask, 1});
}

MaskTape flat_tape(const ir::Program& program, const ir::Bindings& bindings,
                   std::span<const NodeId> results, std::size_t first_row_number) {
  return TapeBuilder(program, bindings, first_row_number).run(results);
}

}  // namespace tilewright::analyse
