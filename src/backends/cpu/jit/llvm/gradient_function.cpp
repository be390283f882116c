#include "backends/cpu/jit/llvm/gradient_function.h"

#include <bit>

#include "backends/cpu/gradient_pass.h"

namespace tilewright::cpu::jit {

using ir::NodeId;
using llvm::Value;

GradientFunction::GradientFunction(Frame& frame, Domain& mask, Domain& score,
                                   const ir::Derivative& derivative)
    : PassFunction(frame, mask, score), derivative_(derivative) {}

std::int64_t GradientFunction::emit() {
  b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", frame_.function));
  load_tile();
  load_captures();
  bound_columns();
  emit_tile_scope();
  list_sums();
  start_column_sums();
  start_scope(Scope::kTile);
  Value* rows = tile_field(offsetof(PassTile, rows), b_.getInt64Ty());
  emit_loop(b_, b_.getInt64(0), rows, 1, [&](Value* row) { emit_gradient_row(row); });
  finish_scope(Scope::kTile);
  finish_columns();
  b_.CreateRetVoid();
  return scratch_bytes_per_column_;
}

GradientFunction::GradientRow GradientFunction::row_at(Value* index) {
  const unsigned prob_bits = frame_.variant.prob == ProbType::kBF16  ? 16
                             : frame_.variant.prob == ProbType::kF32 ? 32
                                                                     : 64;
  llvm::Type* prob = b_.getIntNTy(prob_bits);
  Value* score_row = b_.CreateMul(index, tile_.score_stride);
  Value* prob_row = b_.CreateMul(index, tile_.prob_stride);
  const auto tensor = [&](std::size_t field) { return tile_field(field, b_.getPtrTy()); };
  const auto statistic = [&](std::size_t field) {
    return frame_.splat(
        b_.CreateLoad(frame_.real, b_.CreateGEP(frame_.real, tensor(field), index)));
  };
  GradientRow row;
  row.row = {.index = index,
             .score = b_.CreateGEP(frame_.real, tile_.score, score_row),
             .prob = b_.CreateGEP(prob, tile_.prob, prob_row)};
  row.lse = statistic(offsetof(GradientTile, row_lse));
  if (!needs_d_prob()) return row;
  row.delta = statistic(offsetof(GradientTile, row_delta));
  row.d_prob = b_.CreateGEP(frame_.real, tensor(offsetof(GradientTile, d_prob)), score_row);
  if (derivative_.d_score)
    row.d_score = b_.CreateGEP(prob, tensor(offsetof(GradientTile, d_score)), prob_row);
  return row;
}

void GradientFunction::emit_gradient_row(Value* index) {
  Value* q_begin = tile_field(offsetof(PassTile, q_begin), b_.getInt64Ty());
  frame_.query = b_.CreateAdd(q_begin, index);
  mask_.emit_scalars(Scope::kRow);
  score_.emit_scalars(Scope::kRow);
  const GradientRow row = row_at(index);
  start_scope(Scope::kRow);
  store_zeros(row, b_.getInt64(0), tile_.vector_begin);
  Value* first = frame_.splat_integer(b_.CreateAdd(frame_.kv_begin, tile_.vector_begin));
  Variable kv(b_, frame_.function, b_.CreateAdd(first, b_.CreateStepVector(first->getType())));
  emit_loop(b_, tile_.vector_begin, tile_.vector_end, frame_.lanes, [&](Value* column) {
    mask_domain_.table.forget_vectors();
    score_domain_.table.forget_vectors();
    stand_at(column);
    frame_.kv_vector = kv.get();
    frame_.in_range = fails_per_score() ? lanes_in_range(column) : nullptr;
    emit_vector(row, column);
    kv.set(b_.CreateAdd(frame_.kv_vector,
                        llvm::ConstantInt::get(frame_.kv_vector->getType(), frame_.lanes)));
  });
  store_zeros(row, tile_.vector_end, frame_.prob_cols);
  finish_scope(Scope::kRow);
}

void GradientFunction::store_zeros(const GradientRow& row, Value* begin, Value* end) {
  zero_probabilities(row.row, begin, end);
  if (derivative_.d_score)
    zero_probabilities({.index = row.row.index, .score = nullptr, .prob = row.d_score}, begin, end);
}

/// Vectors in which mask_mod holds nowhere are skipped: their products would be zeros.
void GradientFunction::emit_vector(const GradientRow& row, Value* column) {
  if (!frame_.masked) return emit_live_vector(row, column);
  mask_.emit_vectors(Scope::kScore);
  Value* live = mask_.root();
  llvm::Type* wide = frame_.vector_of(b_.getIntNTy(frame_.real->getScalarSizeInBits()));
  // Between blocks i1 vectors are packed where there are no mask registers; whole lanes are not.
  Value* lanes = frame_.machine.has_mask_registers ? live : b_.CreateSExt(live, wide);
  Value* any = any_lane(live);
  Value* next_column = b_.CreateAdd(column, b_.getInt64(frame_.lanes));
  emit_if(b_, b_.CreateNot(any), nullptr, [&] { store_zeros(row, column, next_column); });
  emit_if(b_, any, nullptr, [&] {
    frame_.mask_true = frame_.machine.has_mask_registers
                           ? lanes
                           : b_.CreateICmpSLT(lanes, llvm::Constant::getNullValue(wide));
    emit_live_vector(row, column);
  });
}

void GradientFunction::emit_live_vector(const GradientRow& row, Value* column) {
  Value* t = modified_score(row.row, column);
  if (frame_.masked) t = b_.CreateSelect(frame_.mask_true, t, minus_infinity());
  t = without_outside(column, t);
  Value* p = frame_.math.exp_of_shifted(b_.CreateFSub(t, row.lse));
  store_probabilities(row.row, column, p);
  if (!needs_d_prob()) return;
  // NaN is live (R3).
  Value* live = b_.CreateFCmpUNE(t, minus_infinity());
  Value* address = b_.CreateGEP(frame_.real, row.d_prob, column);
  Value* d_p = b_.CreateAlignedLoad(frame_.vector_of(frame_.real), address, llvm::Align(4));
  Value* d_t = b_.CreateFMul(p, b_.CreateFSub(d_p, row.delta));
  d_t = b_.CreateSelect(live, d_t, zeros());
  if (derivative_.d_score) store_d_score(row, column, live, d_t);
  add_to_sums(column, live, d_t);
}

void GradientFunction::store_d_score(const GradientRow& row, Value* column, Value* live,
                                     Value* d_t) {
  Value* d_s = d_t;
  const ir::Node& factor = frame_.program.node(*derivative_.d_score);
  const bool is_one = factor.op == ir::Op::kLiteral && std::bit_cast<double>(factor.payload) == 1;
  if (!is_one) {
    d_s = b_.CreateFMul(d_t, score_.lanes(*derivative_.d_score));
    d_s = b_.CreateSelect(live, d_s, zeros());
  }
  store_probabilities({.index = row.row.index, .score = nullptr, .prob = row.d_score}, column, d_s);
}

}  // namespace tilewright::cpu::jit
