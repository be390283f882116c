#include "backends/cpu/jit/llvm/pass_function.h"

#include <llvm/IR/Module.h>

/// The frame of a pass: what is loaded and computed before the rows.
namespace tilewright::cpu::jit {

using ir::NodeId;
using llvm::Value;

std::int64_t PassFunction::emit() {
  b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", frame_.function));
  load_tile();
  load_captures();
  bound_columns();
  emit_tile_scope();
  Value* rows = tile_field(offsetof(PassTile, rows), b_.getInt64Ty());
  emit_loop(b_, b_.getInt64(0), rows, 1, [&](Value* row) { emit_row(row); });
  b_.CreateRetVoid();
  return scratch_bytes_per_column_;
}

void PassFunction::load_tile() {
  llvm::Type* pointer = b_.getPtrTy();
  llvm::Type* integer = b_.getInt64Ty();
  frame_.call = frame_.function->getArg(0);
  frame_.tile = frame_.function->getArg(1);
  frame_.fault = tile_field(offsetof(PassTile, fault), pointer);
  frame_.batch = tile_field(offsetof(PassTile, b), integer);
  frame_.head = tile_field(offsetof(PassTile, h), integer);
  frame_.kv_begin = tile_field(offsetof(PassTile, kv_begin), integer);
  frame_.column_scratch = tile_field(offsetof(PassTile, column_scratch), pointer);
  frame_.prob_cols = tile_field(offsetof(PassTile, prob_cols), integer);
  tile_.score = tile_field(offsetof(PassTile, score), pointer);
  tile_.prob = tile_field(offsetof(PassTile, prob), pointer);
  tile_.score_stride = tile_field(offsetof(PassTile, score_stride), integer);
  tile_.prob_stride = tile_field(offsetof(PassTile, prob_stride), integer);
  if (frame_.variant.prob == ProbType::kBF16) {
    tile_.exact_prob = tile_field(offsetof(PassTile, exact_prob), pointer);
    tile_.wants_exact = b_.CreateIsNotNull(tile_.exact_prob);
  }
  tile_.col_begin = tile_field(offsetof(PassTile, col_begin), integer);
  tile_.col_end = tile_field(offsetof(PassTile, col_end), integer);
  Value* scale = frame_.field(frame_.call, offsetof(PassCall, scale), b_.getDoubleTy());
  tile_.scale = frame_.splat(b_.CreateFPTrunc(scale, frame_.real));
}

void PassFunction::load_captures() {
  if (frame_.program.captures().empty()) return;
  llvm::Type* integer = b_.getInt64Ty();
  Value* all = frame_.field(frame_.call, offsetof(PassCall, captures), b_.getPtrTy());
  // Element 0 of an empty tensor is read here, so that no load needs a branch.
  auto* zero = b_.CreateAlloca(integer);
  b_.CreateStore(b_.getInt64(0), zero);
  std::size_t offset_bytes = 0;
  for (const ir::CaptureSlot& slot : frame_.program.captures()) {
    CaptureValues values;
    const auto list = [&](std::size_t member) {
      return frame_.field(all, offset_bytes + member, b_.getPtrTy());
    };
    Value* extents = slot.rank > 0 ? list(offsetof(PassCapture, extents)) : nullptr;
    Value* strides = slot.rank > 0 ? list(offsetof(PassCapture, strides)) : nullptr;
    Value* is_empty = b_.getFalse();
    for (std::size_t axis = 0; axis < slot.rank; ++axis) {
      values.extents.push_back(frame_.field(extents, axis * 8, integer));
      values.strides.push_back(frame_.field(strides, axis * 8, integer));
      is_empty = b_.CreateOr(is_empty, b_.CreateIsNull(values.extents.back()));
    }
    values.data = b_.CreateSelect(is_empty, zero, list(offsetof(PassCapture, data)));
    frame_.captures.push_back(std::move(values));
    offset_bytes += sizeof(PassCapture);
  }
}

void PassFunction::bound_columns() {
  const auto lanes = static_cast<std::int64_t>(frame_.lanes);
  const auto down = [&](Value* column) { return b_.CreateAnd(column, b_.getInt64(-lanes)); };
  const auto up = [&](Value* column) { return down(b_.CreateAdd(column, b_.getInt64(lanes - 1))); };
  frame_.nonempty = b_.CreateICmpSLT(tile_.col_begin, tile_.col_end);
  tile_.vector_begin = down(tile_.col_begin);
  tile_.vector_end = b_.CreateSelect(frame_.nonempty, up(tile_.col_end), tile_.vector_begin);
  tile_.interior_begin = up(tile_.col_begin);
  Value* cols = b_.CreateSub(down(tile_.col_end), tile_.interior_begin);
  Value* zero = b_.getInt64(0);
  tile_.interior_cols = b_.CreateSelect(b_.CreateICmpSGT(cols, zero), cols, zero);
}

void PassFunction::emit_tile_scope() {
  mask_.emit_scalars(Scope::kTile);
  score_.emit_scalars(Scope::kTile);
  scratch_bytes_per_column_ = score_.assign_slots(mask_.assign_slots(0));
  if (has_columns()) emit_columns();
}

void PassFunction::emit_columns() {
  emit_loop(b_, tile_.vector_begin, tile_.vector_end, frame_.lanes, [&](Value* column) {
    mask_domain_.table.forget_vectors();
    score_domain_.table.forget_vectors();
    stand_at(column);
    Value* first = frame_.splat_integer(frame_.kv_first);
    frame_.kv_vector = b_.CreateAdd(first, b_.CreateStepVector(first->getType()));
    frame_.in_range = frame_.variant.checked ? lanes_in_range(column) : nullptr;
    mask_.emit_vectors(Scope::kColumn);
    score_.emit_vectors(Scope::kColumn);
    mask_.store_columns();
    score_.store_columns();
  });
}

void PassFunction::stand_at(Value* column) {
  frame_.column = column;
  frame_.kv_first = b_.CreateAdd(frame_.kv_begin, column);
  frame_.mask_true = nullptr;
}

Value* PassFunction::lanes_in_range(Value* column) {
  const auto columns = [&](Value* scalar) {
    return frame_.splat(b_.CreateTrunc(scalar, b_.getInt32Ty()));
  };
  Value* first = columns(column);
  Value* lanes = b_.CreateAdd(first, b_.CreateStepVector(first->getType()));
  return b_.CreateAnd(b_.CreateICmpSGE(lanes, columns(tile_.col_begin)),
                      b_.CreateICmpSLT(lanes, columns(tile_.col_end)));
}

bool PassFunction::has_columns() const {
  for (NodeId id = 0; id < frame_.program.size(); ++id) {
    const bool is_here = mask_domain_.own[id] || score_domain_.own[id];
    const bool is_node = frame_.program.node(id).op != ir::Op::kKey;
    const bool is_column =
        frame_.scopes[id] == Scope::kColumn || frame_.early_loads[id] == Scope::kColumn;
    if (is_here && is_node && is_column) return true;
  }
  return false;
}

bool PassFunction::fails_per_score() const {
  for (NodeId id = 0; id < frame_.program.size(); ++id)
    if ((mask_domain_.own[id] || score_domain_.own[id]) && frame_.scopes[id] == Scope::kScore &&
        can_fail(frame_.program.node(id)))
      return true;
  return false;
}

bool PassFunction::reads_kv_per_score() const {
  for (NodeId id = 0; id < frame_.program.size(); ++id) {
    if (frame_.scopes[id] != Scope::kScore) continue;
    for (const NodeId operand : frame_.program.operands(id))
      if (frame_.program.node(operand).op == ir::Op::kKey) return true;
  }
  return false;
}

}  // namespace tilewright::cpu::jit
