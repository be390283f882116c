#include <llvm/IR/Intrinsics.h>

#include "backends/cpu/jit/llvm/pass_function.h"

/// The loops over the columns of a row.
namespace tilewright::cpu::jit {

using llvm::Value;

Variable PassFunction::first_keys() {
  Value* first = frame_.splat_integer(b_.CreateAdd(frame_.kv_begin, tile_.vector_begin));
  return Variable(b_, frame_.function, b_.CreateAdd(first, b_.CreateStepVector(first->getType())));
}

Value* PassFunction::emit_score(const Row& row, Value* column, Variable& keys) {
  stand_in_row(column, keys);
  Value* t = without_outside(column, masked_score(row, column));
  step_keys(keys);
  return t;
}

void PassFunction::stand_in_row(Value* column, Variable& keys) {
  mask_domain_.table.forget_vectors();
  score_domain_.table.forget_vectors();
  stand_at(column);
  frame_.kv_vector = keys.get();
  frame_.in_range = fails_per_score() ? lanes_in_range(column) : nullptr;
}

void PassFunction::step_keys(Variable& keys) {
  if (!reads_kv_per_score()) return;
  Value* kv = frame_.kv_vector;
  keys.set(b_.CreateAdd(kv, llvm::ConstantInt::get(kv->getType(), frame_.lanes)));
}

PassFunction::RowSums PassFunction::emit_fresh_columns(const Row& row, Value* shift) {
  RowLoop loop{.row = row,
               .shifts = frame_.splat(shift),
               .keys = first_keys(),
               .most = Variable(b_, frame_.function, minus_infinity()),
               .ahead = Variable(b_, frame_.function, minus_infinity()),
               .sum = Variable(b_, frame_.function,
                               llvm::Constant::getNullValue(frame_.vector_of(frame_.real)))};
  emit_if(b_, frame_.nonempty, nullptr, [&] {
    Value* first = tile_.vector_begin;
    stand_in_row(first, loop.keys);
    Value* t = nullptr;
    const auto code = straight_code(b_, [&] { return t = masked_score(row, first); });
    step_keys(loop.keys);
    const auto middle = code ? middle_of(*code) : std::nullopt;
    if (middle)
      emit_staged_loop(loop, *code, *middle);
    else
      emit_paired_loop(loop, t);
  });
  return {greatest(loop.most.get()), total(loop.sum.get())};
}

// One vector ahead with t: neither chain of dependent steps, of score_mod or of the exponential,
// waits for the other, so that fewer instructions wait at a time than the CPU can hold.
void PassFunction::emit_paired_loop(RowLoop& loop, Value* first) {
  keep_ahead(loop, tile_.vector_begin, first);
  Value* lanes = b_.getInt64(frame_.lanes);
  Value* second = b_.CreateAdd(tile_.vector_begin, lanes);
  emit_loop(b_, second, tile_.vector_end, frame_.lanes, [&](Value* column) {
    Value* t = loop.ahead.get();
    stand_in_row(column, loop.keys);
    keep_ahead(loop, column, masked_score(loop.row, column));
    step_keys(loop.keys);
    finish_vector(loop, b_.CreateSub(column, lanes), t);
  });
  finish_vector(loop, b_.CreateSub(tile_.vector_end, lanes), loop.ahead.get());
}

// Where score_mod alone is a long chain, in three steps: its two halves and the exponential. The
// first round has no t yet to finish: -inf stands for it, whose zeros the next round overwrites.
void PassFunction::emit_staged_loop(RowLoop& loop, const StraightCode& first, int middle) {
  Value* lanes = b_.getInt64(frame_.lanes);
  const auto two_back = [&](Value* column) {
    Value* back = b_.CreateSub(column, b_.getInt64(2 * std::int64_t{frame_.lanes}));
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, back, tile_.vector_begin);
  };
  std::optional<StagedCode> staged;
  Value* second = b_.CreateAdd(tile_.vector_begin, lanes);
  emit_loop(b_, second, tile_.vector_end, frame_.lanes, [&](Value* column) {
    Value* t = loop.ahead.get();
    stand_in_row(column, loop.keys);
    const auto code = straight_code(b_, [&] { return masked_score(loop.row, column); });
    staged.emplace(b_, first, *code, middle);
    step_keys(loop.keys);
    keep_ahead(loop, b_.CreateSub(column, lanes), staged->result());
    finish_vector(loop, two_back(column), t);
  });
  Value* t = loop.ahead.get();
  Value* last = b_.CreateSub(tile_.vector_end, lanes);
  keep_ahead(loop, last, staged->last_result());
  finish_vector(loop, two_back(tile_.vector_end), t);
  finish_vector(loop, last, loop.ahead.get());
}

void PassFunction::keep_ahead(RowLoop& loop, Value* column, Value* t) {
  loop.ahead.set(without_outside(column, t));
  keep_greater(loop.most, loop.ahead.get());
}

void PassFunction::finish_vector(RowLoop& loop, Value* column, Value* t) {
  Value* p = emit_probability(loop.row, column, b_.CreateFSub(t, loop.shifts));
  loop.sum.set(b_.CreateFAdd(loop.sum.get(), p));
}

Value* PassFunction::emit_probe(const Row& row) {
  Variable most(b_, frame_.function, minus_infinity());
  Variable keys = first_keys();
  emit_loop(b_, tile_.vector_begin, tile_.vector_end, frame_.lanes, [&](Value* column) {
    Value* t = emit_score(row, column, keys);
    keep_greater(most, t);
    b_.CreateAlignedStore(t, b_.CreateGEP(frame_.real, row.score, column), llvm::Align(4));
  });
  return greatest(most.get());
}

Value* PassFunction::emit_kept_columns(const Row& row, Value* shift) {
  Value* shifts = frame_.splat(shift);
  llvm::Type* type = frame_.vector_of(frame_.real);
  Variable sum(b_, frame_.function, llvm::Constant::getNullValue(type));
  emit_loop(b_, tile_.vector_begin, tile_.vector_end, frame_.lanes, [&](Value* column) {
    Value* address = b_.CreateGEP(frame_.real, row.score, column);
    Value* t = b_.CreateAlignedLoad(type, address, llvm::Align(4));
    sum.set(b_.CreateFAdd(sum.get(), emit_probability(row, column, b_.CreateFSub(t, shifts))));
  });
  return total(sum.get());
}

Value* PassFunction::emit_probability(const Row& row, Value* column, Value* shifted) {
  Value* p = probability(shifted);
  store_probabilities(row, column, p);
  store_exact(row, column, p);
  return p;
}

}  // namespace tilewright::cpu::jit
