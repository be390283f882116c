#include <llvm/IR/Intrinsics.h>

#include "backends/cpu/jit/llvm/pass_function.h"
#include "base/check.h"

/// The loop of a row and the online softmax around it.
namespace tilewright::cpu::jit {

using llvm::Value;

Value* PassFunction::minus_infinity() {
  return llvm::ConstantFP::getInfinity(frame_.vector_of(frame_.real), true);
}

Value* PassFunction::row_state(std::size_t offset_bytes, Value* row) {
  return b_.CreateGEP(frame_.real, tile_field(offset_bytes, b_.getPtrTy()), row);
}

void PassFunction::emit_row(Value* index) {
  Value* q_begin = tile_field(offsetof(PassTile, q_begin), b_.getInt64Ty());
  frame_.query = b_.CreateAdd(q_begin, index);
  mask_.emit_scalars(Scope::kRow);
  score_.emit_scalars(Scope::kRow);
  const unsigned prob_bytes = frame_.variant.prob == ProbType::kBF16  ? 2
                              : frame_.variant.prob == ProbType::kF32 ? 4
                                                                      : 8;
  Value* prob_row = b_.CreateMul(index, tile_.prob_stride);
  Row row{.index = index,
          .score = b_.CreateGEP(frame_.real, tile_.score, b_.CreateMul(index, tile_.score_stride)),
          .prob = b_.CreateGEP(b_.getIntNTy(prob_bytes * 8), tile_.prob, prob_row)};
  if (tile_.exact_prob != nullptr)
    row.exact_prob = b_.CreateGEP(frame_.real, tile_.exact_prob, prob_row);
  zero_probabilities(row, b_.getInt64(0), tile_.vector_begin);
  zero_probabilities(row, tile_.vector_end, frame_.prob_cols);
  emit_softmax(row);
}

void PassFunction::emit_softmax(const Row& row) {
  Value* none = llvm::ConstantFP::getInfinity(frame_.real, true);
  Value* zero = llvm::ConstantFP::get(frame_.real, 0);
  Value* max_address = row_state(offsetof(PassTile, row_max), row.index);
  Value* shift_address = row_state(offsetof(PassTile, row_shift), row.index);
  Value* before = b_.CreateLoad(frame_.real, max_address);
  Value* old_shift = b_.CreateLoad(frame_.real, shift_address);
  Variable shift(b_, frame_.function, old_shift);
  Variable row_max(b_, frame_.function, before);
  Variable sum(b_, frame_.function, zero);
  auto* first = llvm::BasicBlock::Create(b_.getContext(), "first", frame_.function);
  auto* attempt = llvm::BasicBlock::Create(b_.getContext(), "attempt", frame_.function);
  auto* again = llvm::BasicBlock::Create(b_.getContext(), "again", frame_.function);
  auto* done = llvm::BasicBlock::Create(b_.getContext(), "done", frame_.function);
  b_.CreateCondBr(b_.CreateFCmpOEQ(old_shift, none), first, attempt);

  b_.SetInsertPoint(first);
  row_max.set(emit_probe(row));
  shift.set(row_max.get());
  // A row without a live pair has exp(-inf - 0) = 0 everywhere.
  Value* is_empty = b_.CreateFCmpOEQ(row_max.get(), none);
  sum.set(emit_kept_columns(row, b_.CreateSelect(is_empty, zero, shift.get())));
  b_.CreateBr(done);

  b_.SetInsertPoint(attempt);
  Value* current = shift.get();
  const RowSums sums = emit_fresh_columns(row, current);
  row_max.set(b_.CreateSelect(b_.CreateFCmpOGT(sums.max, before), sums.max, before));
  sum.set(sums.sum);
  // Equal infinities differ by NaN: false.
  Value* far = b_.CreateFCmpOGT(b_.CreateFSub(row_max.get(), current),
                                llvm::ConstantFP::get(frame_.real, kLazyShift));
  b_.CreateCondBr(far, again, done, frame_.unlikely);

  b_.SetInsertPoint(again);
  shift.set(row_max.get());
  b_.CreateBr(attempt);

  b_.SetInsertPoint(done);
  b_.CreateStore(row_max.get(), max_address);
  b_.CreateStore(shift.get(), shift_address);
  emit_row_sum(row, {old_shift, shift.get()}, sum.get());
}

void PassFunction::emit_row_sum(const Row& row, ShiftMove move, Value* tile_sum) {
  Variable alpha(b_, frame_.function, llvm::ConstantFP::get(frame_.real, 1));
  emit_if(b_, b_.CreateFCmpONE(move.before, move.after), frame_.unlikely,
          [&] { alpha.set(frame_.math.exp_of_shifted(b_.CreateFSub(move.before, move.after))); });
  Value* factor = alpha.get();
  b_.CreateStore(factor, row_state(offsetof(PassTile, row_alpha), row.index));
  Value* sum_address = row_state(offsetof(PassTile, row_sum), row.index);
  Value* kept = b_.CreateFMul(b_.CreateLoad(frame_.real, sum_address), factor);
  b_.CreateStore(b_.CreateFAdd(kept, tile_sum), sum_address);
}

void PassFunction::keep_greater(Variable& most, Value* t) {
  // A NaN never becomes the maximum: it reaches the row through its probability.
  Value* before = most.get();
  most.set(b_.CreateSelect(b_.CreateFCmpOGT(t, before), t, before));
}

Value* PassFunction::greatest(Value* most) {
  llvm::FastMathFlags flags;
  flags.setNoNaNs();
  llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
  b_.setFastMathFlags(flags);
  return b_.CreateFPMaxReduce(most);
}

Value* PassFunction::total(Value* sums) {
  llvm::FastMathFlags flags;
  flags.setAllowReassoc();
  llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
  b_.setFastMathFlags(flags);
  return b_.CreateFAddReduce(llvm::ConstantFP::get(frame_.real, -0.0), sums);
}

Value* PassFunction::probability(Value* shifted) {
  const bool is_rounded = frame_.variant.prob == ProbType::kBF16;
  return is_rounded && frame_.machine.has_mask_registers ? frame_.math.rough_exp_of_shifted(shifted)
                                                         : frame_.math.exp_of_shifted(shifted);
}

Value* PassFunction::scaled_score(const Row& row, Value* column) {
  Value* address = b_.CreateGEP(frame_.real, row.score, column);
  Value* raw = b_.CreateAlignedLoad(frame_.vector_of(frame_.real), address, llvm::Align(4));
  return b_.CreateFMul(raw, tile_.scale);
}

Value* PassFunction::modified_score(const Row& row, Value* column) {
  frame_.score = scaled_score(row, column);
  if (!frame_.program.roots().score) return frame_.score;
  score_.emit_vectors(Scope::kScore);
  return score_.root();
}

Value* PassFunction::any_lane(Value* lanes) {
  return b_.CreateIsNotNull(b_.CreateBitCast(lanes, b_.getIntNTy(frame_.lanes)));
}

bool PassFunction::skips_dead_vectors() const {
  // A mispredicted branch costs about as much as a dozen instructions on every lane.
  constexpr std::ptrdiff_t kWorthwhileNodes = 6;
  std::ptrdiff_t cost = 0;
  for (ir::NodeId id = 0; id < frame_.program.size(); ++id) {
    if (!score_domain_.own[id] || frame_.scopes[id] != Scope::kScore) continue;
    const ir::Op op = frame_.program.node(id).op;
    const bool is_cheap = op == ir::Op::kScore || op == ir::Op::add || op == ir::Op::sub ||
                          op == ir::Op::mul || op == ir::Op::fselect || op == ir::Op::isub ||
                          op == ir::Op::int_to_float;
    cost += is_cheap ? 1 : kWorthwhileNodes;
  }
  return cost > kWorthwhileNodes;
}

Value* PassFunction::masked_score(const Row& row, Value* column) {
  if (!frame_.masked) return modified_score(row, column);
  mask_.emit_vectors(Scope::kScore);
  Value* live = mask_.root();
  frame_.mask_true = live;
  if (!skips_dead_vectors())
    return b_.CreateSelect(live, modified_score(row, column), minus_infinity());
  Variable t(b_, frame_.function, minus_infinity());
  llvm::Type* wide = frame_.vector_of(b_.getIntNTy(frame_.real->getScalarSizeInBits()));
  // Between blocks i1 vectors are packed where there are no mask registers; whole lanes are not.
  Value* lanes = frame_.machine.has_mask_registers ? live : b_.CreateSExt(live, wide);
  emit_if(b_, any_lane(live), nullptr, [&] {
    frame_.mask_true = frame_.machine.has_mask_registers
                           ? lanes
                           : b_.CreateICmpSLT(lanes, llvm::Constant::getNullValue(wide));
    t.set(b_.CreateSelect(frame_.mask_true, modified_score(row, column), minus_infinity()));
  });
  return t.get();
}

Value* PassFunction::without_outside(Value* column, Value* t) {
  Variable kept(b_, frame_.function, t);
  Value* inside = b_.CreateICmpULT(b_.CreateSub(column, tile_.interior_begin), tile_.interior_cols);
  emit_if(b_, b_.CreateNot(inside), frame_.unlikely,
          [&] { kept.set(b_.CreateSelect(lanes_in_range(column), t, minus_infinity())); });
  return kept.get();
}

void PassFunction::store_probabilities(const Row& row, Value* column, Value* probabilities) {
  Value* stored = frame_.variant.prob == ProbType::kBF16
                      ? frame_.math.bf16_bits_of_normals(probabilities)
                      : probabilities;
  Value* address = b_.CreateGEP(stored->getType()->getScalarType(), row.prob, column);
  b_.CreateAlignedStore(stored, address, llvm::Align(2));
}

void PassFunction::store_exact(const Row& row, Value* column, Value* probabilities) {
  if (row.exact_prob == nullptr) return;
  emit_if(b_, tile_.wants_exact, frame_.unlikely, [&] {
    Value* address = b_.CreateGEP(frame_.real, row.exact_prob, column);
    b_.CreateAlignedStore(probabilities, address, llvm::Align(4));
  });
}

void PassFunction::zero_probabilities(const Row& row, Value* begin, Value* end) {
  emit_loop(b_, begin, end, frame_.lanes, [&](Value* column) {
    Value* none = llvm::Constant::getNullValue(frame_.vector_of(frame_.real));
    store_probabilities(row, column, none);
    store_exact(row, column, none);
  });
}

}  // namespace tilewright::cpu::jit
