#include "backends/cpu/jit/llvm/node_emitter.h"

#include <bit>

#include "backends/cpu/jit/llvm/capture_loads.h"
#include "base/check.h"

namespace tilewright::cpu::jit {

using ir::NodeId;
using ir::Op;
using llvm::Value;

NodeEmitter::NodeEmitter(Frame& frame, Domain& domain)
    : frame_(frame),
      domain_(domain),
      ops_(frame.b, frame.math, frame.machine, domain.is_mask),
      read_in_columns_(frame.program.size()),
      read_in_scores_(frame.program.size()),
      depends_on_score_(frame.program.size()),
      reciprocals_(frame.program.size()) {
  // Either root may be a node of this domain.
  const ir::Roots& roots = frame.program.roots();
  if (roots.score) read_in_scores_[*roots.score] = true;
  if (roots.mask) read_in_scores_[*roots.mask] = true;
  for (const NodeId derivative : roots.derivatives) {
    read_in_scores_[derivative] = true;
    // Its gradient is summed under the subscripts of a load.
    if (frame.program.node(derivative).op != Op::kLoad) continue;
    for (const NodeId operand : frame.program.operands(derivative)) read_in_scores_[operand] = true;
  }
  for (NodeId user = 0; user < frame.program.size(); ++user)
    for (const NodeId operand : frame.program.operands(user)) {
      if (frame.scopes[user] == Scope::kColumn) read_in_columns_[operand] = true;
      if (frame.scopes[user] == Scope::kScore) read_in_scores_[operand] = true;
      if (depends_on_score_[operand] || frame.program.node(operand).op == Op::kScore)
        depends_on_score_[user] = true;
    }
}

bool NodeEmitter::multiplies_by_reciprocal(NodeId id) const {
  if (domain_.is_mask || frame_.program.node(id).op != Op::div) return false;
  const auto operands = frame_.program.operands(id);
  const bool is_score = frame_.program.node(operands[0]).op == Op::kScore;
  return (is_score || depends_on_score_[operands[0]]) && !depends_on_score_[operands[1]] &&
         frame_.scopes[operands[1]] <= Scope::kRow;
}

Value* NodeEmitter::reciprocal_of(NodeId id) {
  Value* divisor = scalar(id);
  return frame_.splat(frame_.b.CreateFDiv(llvm::ConstantFP::get(divisor->getType(), 1), divisor));
}

void NodeEmitter::emit_scalars(Scope scope) {
  for (NodeId id = 0; id < frame_.program.size(); ++id) {
    if (!domain_.own[id]) continue;
    if (frame_.early_loads[id] == scope) {
      domain_.table.scalars[id] = early_element(id, false);
      domain_.table.splats[id] = splat_of(id);
    }
    if (frame_.scopes[id] != scope || frame_.program.node(id).op == Op::kLiteral) continue;
    domain_.table.scalars[id] = emit_node(id, false);
    if (read_in_columns_[id] || read_in_scores_[id]) domain_.table.splats[id] = splat_of(id);
  }
  for (NodeId id = 0; id < frame_.program.size(); ++id) {
    if (!domain_.own[id] || !multiplies_by_reciprocal(id)) continue;
    const NodeId divisor = frame_.program.operands(id)[1];
    const bool is_here = frame_.scopes[divisor] == scope;
    if (is_here && reciprocals_[divisor] == nullptr) reciprocals_[divisor] = reciprocal_of(divisor);
  }
}

void NodeEmitter::emit_vectors(Scope scope) {
  for (NodeId id = 0; id < frame_.program.size(); ++id) {
    if (!domain_.own[id]) continue;
    if (frame_.early_loads[id] == scope) domain_.table.vectors[id] = early_element(id, true);
    if (frame_.scopes[id] == scope) domain_.table.vectors[id] = emit_node(id, true);
  }
}

std::int64_t NodeEmitter::assign_slots(std::int64_t bytes_per_column) {
  for (NodeId id = 0; id < frame_.program.size(); ++id) {
    const bool is_column = frame_.scopes[id] == Scope::kColumn &&
                           frame_.program.node(id).op != Op::kKey && read_in_scores_[id];
    const bool is_stored = is_column || frame_.early_loads[id] == Scope::kColumn;
    if (!domain_.own[id] || !is_stored) continue;
    domain_.table.slots[id] = bytes_per_column;
    bytes_per_column += slot_type(id)->getScalarSizeInBits() / 8;
  }
  return bytes_per_column;
}

void NodeEmitter::store_columns() {
  for (NodeId id = 0; id < frame_.program.size(); ++id) {
    if (!domain_.own[id] || domain_.table.slots[id] < 0) continue;
    Value* stored = domain_.table.vectors[id];
    if (frame_.program.node(id).type == ir::Type::kBool)
      stored = frame_.b.CreateSExt(stored, slot_type(id));
    frame_.b.CreateAlignedStore(stored, slot_address(id), llvm::Align(4));
  }
}

llvm::Type* NodeEmitter::slot_type(NodeId id) {
  switch (frame_.program.node(id).type) {
    case ir::Type::kFloat:
      return frame_.vector_of(domain_.table.real);
    case ir::Type::kInt:
      return frame_.vector_of(frame_.integer);
    case ir::Type::kBool:
      break;
  }
  return frame_.vector_of(frame_.b.getIntNTy(frame_.real->getScalarSizeInBits()));
}

Value* NodeEmitter::slot_address(NodeId id) {
  Builder& b = frame_.b;
  Value* offset = b.CreateMul(frame_.prob_cols, b.getInt64(domain_.table.slots[id]));
  Value* slot = b.CreateGEP(b.getInt8Ty(), frame_.column_scratch, offset);
  return b.CreateGEP(slot_type(id)->getScalarType(), slot, frame_.column);
}

Value* NodeEmitter::from_scratch(NodeId id) {
  Value* loaded = frame_.b.CreateAlignedLoad(slot_type(id), slot_address(id), llvm::Align(4));
  if (frame_.program.node(id).type != ir::Type::kBool) return loaded;
  return frame_.b.CreateICmpSLT(loaded, llvm::Constant::getNullValue(loaded->getType()));
}

Value* NodeEmitter::scalar(NodeId id) {
  if (frame_.program.node(id).op == Op::kLiteral) return literal(id, false);
  TILEWRIGHT_CHECK(domain_.table.scalars[id] != nullptr);
  return domain_.table.scalars[id];
}

Value* NodeEmitter::vector(NodeId id) {
  if (frame_.program.node(id).op == Op::kLiteral) return literal(id, true);
  if (frame_.scopes[id] <= Scope::kRow) return domain_.table.splats[id];
  Value*& known = domain_.table.vectors[id];
  if (known != nullptr) return known;
  TILEWRIGHT_CHECK(frame_.scopes[id] == Scope::kColumn);
  known = frame_.program.node(id).op == Op::kKey ? frame_.kv_vector : from_scratch(id);
  return known;
}

Value* NodeEmitter::splat_of(NodeId id) {
  Value* value = scalar(id);
  return frame_.program.node(id).type == ir::Type::kInt ? frame_.splat_integer(value)
                                                        : frame_.splat(value);
}

Value* NodeEmitter::literal(NodeId id, bool as_vector) {
  const ir::Node& node = frame_.program.node(id);
  llvm::Constant* value = nullptr;
  switch (node.type) {
    case ir::Type::kFloat:
      value = llvm::ConstantFP::get(domain_.table.real, std::bit_cast<double>(node.payload));
      break;
    case ir::Type::kInt:
      value = llvm::ConstantInt::get(as_vector ? frame_.integer : frame_.b.getInt64Ty(),
                                     node.payload, true);
      break;
    case ir::Type::kBool:
      value = frame_.b.getInt1(node.payload != 0);
      break;
  }
  return as_vector
             ? llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(frame_.lanes), value)
             : value;
}

Value* NodeEmitter::number(NodeId id) {
  const ir::Node& node = frame_.program.node(id);
  Builder& b = frame_.b;
  Value* numbers = frame_.field(frame_.call, offsetof(PassCall, numbers), b.getPtrTy());
  const std::size_t offset_bytes = node.payload * sizeof(PassNumber);
  if (node.type == ir::Type::kFloat)
    return b.CreateFPTrunc(frame_.field(numbers, offset_bytes, b.getDoubleTy()),
                           domain_.table.real);
  Value* integer = frame_.field(numbers, offset_bytes, b.getInt64Ty());
  return node.type == ir::Type::kInt ? integer : b.CreateICmpNE(integer, b.getInt64(0));
}

Value* NodeEmitter::emit_node(NodeId id, bool as_vector) {
  switch (frame_.program.node(id).op) {
    case Op::kScore:
      return frame_.score;
    case Op::kBatch:
      return frame_.batch;
    case Op::kHead:
      return frame_.head;
    case Op::kQuery:
      return frame_.query;
    case Op::kKey:
      return frame_.kv_vector;
    case Op::kLiteral:
      return literal(id, as_vector);
    case Op::kNumber:
      return number(id);
    case Op::kLoad:
      return load(id, as_vector);
    default:
      return row(id, as_vector);
  }
}

}  // namespace tilewright::cpu::jit
