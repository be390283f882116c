#include "backends/cpu/jit/llvm/op_emitter.h"

#include <llvm/IR/Intrinsics.h>

#include "base/check.h"

/// Dispatch, truth values, comparisons, choices and casts. Floats and integers have files of their
/// own.
namespace tilewright::cpu::jit {

using llvm::Value;

Value* OpEmitter::emit(ir::Op op, llvm::ArrayRef<Value*> operands, llvm::Type* real,
                       llvm::Type* integer) {
  const Row row{operands[0], operands.size() > 1 ? operands[1] : nullptr,
                operands.size() > 2 ? operands[2] : nullptr, real, integer};
  switch (op) {
#define TILEWRIGHT_OP(id, fn, result, signature, expression, interval, derivative, edge) \
  case ir::Op::id:                                                                       \
    return id(row);
#include "ir/ops.def"
#undef TILEWRIGHT_OP
    default:
      break;
  }
  TILEWRIGHT_CHECK(!ir::is_leaf(op));
  return nullptr;
}

Value* OpEmitter::band(const Row& x) { return b_.CreateAnd(x.a, x.b); }
Value* OpEmitter::bor(const Row& x) { return b_.CreateOr(x.a, x.b); }
Value* OpEmitter::bxor(const Row& x) { return b_.CreateXor(x.a, x.b); }
Value* OpEmitter::bnot(const Row& x) { return b_.CreateNot(x.a); }

Value* OpEmitter::flt(const Row& x) { return b_.CreateFCmpOLT(x.a, x.b); }
Value* OpEmitter::fle(const Row& x) { return b_.CreateFCmpOLE(x.a, x.b); }
Value* OpEmitter::feq(const Row& x) { return b_.CreateFCmpOEQ(x.a, x.b); }
Value* OpEmitter::fne(const Row& x) { return b_.CreateFCmpUNE(x.a, x.b); }
Value* OpEmitter::ilt(const Row& x) { return b_.CreateICmpSLT(x.a, x.b); }
Value* OpEmitter::ile(const Row& x) { return b_.CreateICmpSLE(x.a, x.b); }
Value* OpEmitter::ieq(const Row& x) { return b_.CreateICmpEQ(x.a, x.b); }
Value* OpEmitter::ine(const Row& x) { return b_.CreateICmpNE(x.a, x.b); }

Value* OpEmitter::fselect(const Row& x) { return b_.CreateSelect(x.a, x.b, x.c); }
Value* OpEmitter::iselect(const Row& x) { return b_.CreateSelect(x.a, x.b, x.c); }
Value* OpEmitter::bselect(const Row& x) { return b_.CreateSelect(x.a, x.b, x.c); }

Value* OpEmitter::bool_to_int(const Row& x) {
  return b_.CreateZExt(x.a, shaped_like(x.type(), x.integer));
}

Value* OpEmitter::int_to_float(const Row& x) {
  return b_.CreateSIToFP(x.a, shaped_like(x.type(), x.real));
}

Value* OpEmitter::float_to_int(const Row& x) {
  llvm::Type* to = shaped_like(x.type(), x.integer);
  return b_.CreateIntrinsic(llvm::Intrinsic::fptosi_sat, {to, x.type()}, {x.a});
}

Value* OpEmitter::wrap(const Row& x, unsigned bits, bool is_signed) {
  if (x.type()->getScalarSizeInBits() <= bits) return x.a;
  Value* narrow = b_.CreateTrunc(x.a, shaped_like(x.type(), b_.getIntNTy(bits)));
  return is_signed ? b_.CreateSExt(narrow, x.type()) : b_.CreateZExt(narrow, x.type());
}

Value* OpEmitter::wrap_i8(const Row& x) { return wrap(x, 8, true); }
Value* OpEmitter::wrap_i16(const Row& x) { return wrap(x, 16, true); }
Value* OpEmitter::wrap_i32(const Row& x) { return wrap(x, 32, true); }
Value* OpEmitter::wrap_u8(const Row& x) { return wrap(x, 8, false); }

Value* OpEmitter::round_f32(const Row& x) {
  if (x.type()->getScalarType()->isFloatTy()) return x.a;
  Value* narrow = b_.CreateFPTrunc(x.a, shaped_like(x.type(), b_.getFloatTy()));
  return b_.CreateFPExt(narrow, x.type());
}

Value* OpEmitter::round_f16(const Row& x) {
  const bool is_f32 = x.type()->getScalarType()->isFloatTy();
  Value* rounded = math_.from_f16_bits(math_.f16_bits(is_f32 ? x.a : math_.round_to_odd(x.a)));
  return is_f32 ? rounded : b_.CreateFPExt(rounded, x.type());
}

Value* OpEmitter::round_bf16(const Row& x) {
  const bool is_f32 = x.type()->getScalarType()->isFloatTy();
  Value* rounded = math_.from_bf16_bits(math_.bf16_bits(is_f32 ? x.a : math_.round_to_odd(x.a)));
  return is_f32 ? rounded : b_.CreateFPExt(rounded, x.type());
}

}  // namespace tilewright::cpu::jit
