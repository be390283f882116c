#include "backends/cpu/jit/llvm/capture_loads.h"
#include "backends/cpu/jit/llvm/node_emitter.h"
#include "base/check.h"

/// Rows of ops.def and loads: the nodes that have operands, and may fail.
namespace tilewright::cpu::jit {

using ir::NodeId;
using ir::Op;
using llvm::Value;

bool NodeEmitter::is_under_mask(NodeId id) const {
  return !domain_.is_mask && frame_.mask_true != nullptr && frame_.scopes[id] == Scope::kScore;
}

Value* NodeEmitter::guard(NodeId id, bool as_vector) {
  const NodeId guard = frame_.program.operands(id).back();
  const ir::Node& node = frame_.program.node(guard);
  const bool always = node.op == Op::kLiteral && node.payload != 0;
  return always ? nullptr : value(guard, as_vector);
}

Value* NodeEmitter::live_lanes(NodeId id, bool as_vector) {
  Value* live = guard(id, as_vector);
  if (!as_vector) return live;
  live = frame_.both(live, frame_.in_range);
  return is_under_mask(id) ? frame_.both(live, frame_.mask_true) : live;
}

Value* NodeEmitter::row(NodeId id, bool as_vector) {
  const Op op = frame_.program.node(id).op;
  if (as_vector && multiplies_by_reciprocal(id)) {
    const auto operands = frame_.program.operands(id);
    return frame_.b.CreateFMul(vector(operands[0]), reciprocals_[operands[1]]);
  }
  const bool has_guard = ir::row(op).has_guard();
  const auto written = frame_.program.operands(id);
  llvm::SmallVector<Value*, 3> operands;
  for (const NodeId operand : has_guard ? written.first(written.size() - 1) : written)
    operands.push_back(value(operand, as_vector));
  if (has_guard && frame_.variant.checked) {
    Value* zero =
        frame_.b.CreateICmpEQ(operands[1], llvm::Constant::getNullValue(operands[1]->getType()));
    emit_fault(frame_, frame_.both(zero, live_lanes(id, as_vector)), id, 0, operands[1]);
  }
  return ops_.emit(op, operands, domain_.table.real,
                   as_vector ? frame_.integer : frame_.b.getInt64Ty());
}

Value* NodeEmitter::at_first_lane(NodeId id) {
  const Op op = frame_.program.node(id).op;
  if (frame_.scopes[id] <= Scope::kRow) return scalar(id);
  if (op == Op::kKey) return frame_.kv_first;
  Value*& known = domain_.table.first_lanes[id];
  if (known != nullptr) return known;
  TILEWRIGHT_CHECK(op == Op::iadd || op == Op::isub);
  Value* a = at_first_lane(frame_.program.operands(id)[0]);
  Value* b = at_first_lane(frame_.program.operands(id)[1]);
  known = op == Op::iadd ? frame_.b.CreateAdd(a, b) : frame_.b.CreateSub(a, b);
  return known;
}

Value* NodeEmitter::early_element(NodeId id, bool as_vector) {
  const auto operands = frame_.program.operands(id);
  llvm::SmallVector<Value*, 4> indices;
  for (const NodeId subscript : operands.first(operands.size() - 1))
    indices.push_back(value(subscript, as_vector));
  return emit_gather(frame_, {.node = id,
                              .indices = indices,
                              .live = as_vector ? frame_.in_range : nullptr,
                              .is_vector = as_vector,
                              .check_bounds = true,
                              .record_faults = false,
                              .real = domain_.table.real});
}

Value* NodeEmitter::guarded(NodeId id, Value* element) {
  Value* reached = guard(id, element->getType()->isVectorTy());
  if (reached == nullptr) return element;
  // Behind a false guard a load holds 0.
  return frame_.b.CreateSelect(reached, element, llvm::Constant::getNullValue(element->getType()));
}

Value* NodeEmitter::load(NodeId id, bool as_vector) {
  if (const auto early = frame_.early_loads[id])
    return guarded(id, *early == Scope::kColumn ? from_scratch(id) : domain_.table.splats[id]);
  const auto operands = frame_.program.operands(id);
  const auto subscripts = operands.first(operands.size() - 1);
  llvm::SmallVector<Value*, 4> indices;
  ContiguousLoad contiguous;
  std::size_t moving_axes = 0;
  bool is_regular = as_vector && frame_.scopes[id] == Scope::kScore;
  for (std::size_t axis = 0; axis < subscripts.size(); ++axis) {
    indices.push_back(value(subscripts[axis], as_vector));
    const auto step = frame_.kv_steps[subscripts[axis]];
    is_regular = is_regular && step.has_value();
    if (!is_regular) continue;
    contiguous.first.push_back(at_first_lane(subscripts[axis]));
    if (*step == 0) continue;
    ++moving_axes;
    contiguous.axis = axis;
    contiguous.step = *step;
  }
  const bool checked = frame_.variant.checked;
  const CaptureLoad load{.node = id,
                         .indices = indices,
                         .live = live_lanes(id, as_vector),
                         .is_vector = as_vector,
                         .check_bounds = checked || frame_.scopes[id] != Scope::kScore,
                         .record_faults = checked,
                         .real = domain_.table.real};
  Value* loaded = is_regular && moving_axes == 1 ? emit_contiguous_load(frame_, load, contiguous)
                                                 : emit_gather(frame_, load);
  return guarded(id, loaded);
}

}  // namespace tilewright::cpu::jit
