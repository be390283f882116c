#include <llvm/IR/Intrinsics.h>

#include <cstdint>

#include "backends/cpu/jit/llvm/op_emitter.h"

/// Rows of ops.def on integers: i64, or i32 vectors where facts promise that nothing overflows.
namespace tilewright::cpu::jit {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

Value* OpEmitter::integer(const Row& x, std::int64_t value) {
  return llvm::ConstantInt::getSigned(x.type(), value);
}

Value* OpEmitter::iadd(const Row& x) { return b_.CreateAdd(x.a, x.b); }
Value* OpEmitter::isub(const Row& x) { return b_.CreateSub(x.a, x.b); }
Value* OpEmitter::imul(const Row& x) { return b_.CreateMul(x.a, x.b); }
Value* OpEmitter::ineg(const Row& x) { return b_.CreateNeg(x.a); }
Value* OpEmitter::iabs(const Row& x) {
  return b_.CreateBinaryIntrinsic(Intrinsic::abs, x.a, b_.getFalse());
}
Value* OpEmitter::isign(const Row& x) {
  Value* below = b_.CreateSExt(b_.CreateICmpSLT(x.a, integer(x, 0)), x.type());
  Value* above = b_.CreateZExt(b_.CreateICmpSGT(x.a, integer(x, 0)), x.type());
  return b_.CreateOr(below, above);
}
Value* OpEmitter::imin(const Row& x) { return b_.CreateBinaryIntrinsic(Intrinsic::smin, x.a, x.b); }
Value* OpEmitter::imax(const Row& x) { return b_.CreateBinaryIntrinsic(Intrinsic::smax, x.a, x.b); }
Value* OpEmitter::iclamp(const Row& x) {
  return b_.CreateBinaryIntrinsic(Intrinsic::smin, imax(x), x.c);
}

// 1 in place of 0 and -1, so that the quotient instruction never traps.
Value* OpEmitter::safe_divisor(const Row& x) {
  Value* one = integer(x, 1);
  // -1 <= b <= 0 in one comparison.
  Value* unsafe = b_.CreateICmpULT(b_.CreateAdd(x.b, one), integer(x, 2));
  return b_.CreateSelect(unsafe, one, x.b);
}

// Exact: a quotient that is no integer is at least 1 / |b| away from one, and 1 / |a| > 2^-53.
Value* OpEmitter::int32_quotient(Value* a, Value* b) {
  llvm::Type* wide = shaped_like(a->getType(), b_.getDoubleTy());
  Value* quotient = b_.CreateFDiv(b_.CreateSIToFP(a, wide), b_.CreateSIToFP(b, wide));
  return b_.CreateFPToSI(quotient, a->getType());
}

// 0 for b = 0; a / -1 is -a, wrapping.
Value* OpEmitter::truncated_quotient(const Row& x) {
  Value* divisor = safe_divisor(x);
  const bool is_i32_vector = x.type()->isVectorTy() && x.type()->getScalarSizeInBits() == 32;
  Value* quotient = is_i32_vector ? int32_quotient(x.a, divisor) : b_.CreateSDiv(x.a, divisor);
  Value* negated = b_.CreateICmpEQ(x.b, integer(x, -1));
  quotient = b_.CreateSelect(negated, b_.CreateNeg(x.a), quotient);
  return b_.CreateSelect(b_.CreateICmpEQ(x.b, integer(x, 0)), integer(x, 0), quotient);
}

Value* OpEmitter::itrunc_div(const Row& x) { return truncated_quotient(x); }

Value* OpEmitter::itrunc_mod(const Row& x) {
  Value* product = b_.CreateMul(truncated_quotient(x), x.b);
  Value* remainder = b_.CreateSub(x.a, product);
  return b_.CreateSelect(b_.CreateICmpEQ(x.b, integer(x, 0)), integer(x, 0), remainder);
}

Value* OpEmitter::ifloor_div(const Row& x) {
  Value* quotient = truncated_quotient(x);
  Value* remainder = b_.CreateSub(x.a, b_.CreateMul(quotient, x.b));
  Value* opposite = b_.CreateICmpSLT(b_.CreateXor(remainder, x.b), integer(x, 0));
  Value* adjust = b_.CreateAnd(b_.CreateICmpNE(remainder, integer(x, 0)), opposite);
  adjust = b_.CreateAnd(adjust, b_.CreateICmpNE(x.b, integer(x, 0)));
  return b_.CreateSelect(adjust, b_.CreateSub(quotient, integer(x, 1)), quotient);
}

Value* OpEmitter::ifloor_mod(const Row& x) {
  Value* remainder = itrunc_mod(x);
  Value* opposite = b_.CreateICmpSLT(b_.CreateXor(remainder, x.b), integer(x, 0));
  Value* adjust = b_.CreateAnd(b_.CreateICmpNE(remainder, integer(x, 0)), opposite);
  return b_.CreateSelect(adjust, b_.CreateAdd(remainder, x.b), remainder);
}

Value* OpEmitter::iand(const Row& x) { return b_.CreateAnd(x.a, x.b); }
Value* OpEmitter::ior(const Row& x) { return b_.CreateOr(x.a, x.b); }
Value* OpEmitter::ixor(const Row& x) { return b_.CreateXor(x.a, x.b); }
Value* OpEmitter::inot(const Row& x) { return b_.CreateNot(x.a); }

// Where 32 bits are enough, a count of 32 to 63 can only shift everything out.
Value* OpEmitter::shl(const Row& x) {
  const auto bits = static_cast<std::int64_t>(x.type()->getScalarSizeInBits());
  Value* valid = b_.CreateICmpULT(x.b, integer(x, bits));
  Value* shifted = b_.CreateShl(x.a, b_.CreateSelect(valid, x.b, integer(x, 0)));
  return b_.CreateSelect(valid, shifted, integer(x, 0));
}

Value* OpEmitter::shr(const Row& x) {
  const auto bits = static_cast<std::int64_t>(x.type()->getScalarSizeInBits());
  Value* valid = b_.CreateICmpULT(x.b, integer(x, bits));
  return b_.CreateAShr(x.a, b_.CreateSelect(valid, x.b, integer(x, bits - 1)));
}

}  // namespace tilewright::cpu::jit
