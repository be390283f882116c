#include <llvm/IR/Intrinsics.h>

#include "backends/cpu/jit/llvm/vector_math.h"

/// Conversions between floats and the 16-bit formats: instructions where the machine has them,
/// integer arithmetic (that of base/half.h) where not.
namespace tilewright::cpu::jit {

using llvm::Type;
using llvm::Value;

Value* VectorMath::bf16_bits_of_normals(Value* f32) {
  if (!machine_.has_bf16 || lane_count(f32->getType()) == 1) return bf16_bits(f32);
  Type* bf16 = shaped_like(f32->getType(), b_.getBFloatTy());
  return b_.CreateBitCast(b_.CreateFPTrunc(f32, bf16),
                          shaped_like(f32->getType(), b_.getInt16Ty()));
}

Value* VectorMath::bf16_bits(Value* f32) {
  Type* narrow = shaped_like(f32->getType(), b_.getInt16Ty());
  Type* wide = shaped_like(f32->getType(), b_.getInt32Ty());
  Value* bits = b_.CreateBitCast(f32, wide);
  Value* odd = b_.CreateAnd(b_.CreateLShr(bits, 16), llvm::ConstantInt::get(wide, 1));
  Value* rounding = b_.CreateAdd(odd, llvm::ConstantInt::get(wide, 0x7fff));
  Value* rounded = b_.CreateAdd(bits, rounding);
  Value* quiet = b_.CreateOr(bits, llvm::ConstantInt::get(wide, 0x00400000));
  Value* kept = b_.CreateSelect(b_.CreateFCmpUNO(f32, f32), quiet, rounded);
  return b_.CreateTrunc(b_.CreateLShr(kept, 16), narrow);
}

Value* VectorMath::from_bf16_bits(Value* bits) {
  Type* wide = shaped_like(bits->getType(), b_.getInt32Ty());
  Value* shifted = b_.CreateShl(b_.CreateZExt(bits, wide), 16);
  return b_.CreateBitCast(shifted, shaped_like(bits->getType(), b_.getFloatTy()));
}

Value* VectorMath::f16_bits(Value* f32) {
  Type* narrow = shaped_like(f32->getType(), b_.getInt16Ty());
  if (machine_.has_f16c) {
    Type* half = shaped_like(f32->getType(), b_.getHalfTy());
    return b_.CreateBitCast(b_.CreateFPTrunc(f32, half), narrow);
  }
  Type* wide = shaped_like(f32->getType(), b_.getInt32Ty());
  const auto number = [&](std::uint32_t value) { return llvm::ConstantInt::get(wide, value); };
  Value* bits = b_.CreateBitCast(f32, wide);
  Value* sign = b_.CreateAnd(b_.CreateLShr(bits, 16), number(0x8000));
  Value* magnitude = b_.CreateAnd(bits, number(0x7fffffff));
  // The addition of 0.5 puts a subnormal's last bit at the float's last bit: it rounds by itself.
  Value* shifted =
      b_.CreateFAdd(b_.CreateBitCast(magnitude, f32->getType()), constant(f32->getType(), 0.5));
  Value* subnormal = b_.CreateSub(b_.CreateBitCast(shifted, wide), number(0x3f000000));
  Value* odd = b_.CreateAnd(b_.CreateLShr(magnitude, 13), number(1));
  Value* rounding = b_.CreateAdd(odd, number(0xfff));
  Value* normal =
      b_.CreateLShr(b_.CreateAdd(b_.CreateSub(magnitude, number(0x38000000)), rounding), 13);
  Value* result =
      b_.CreateSelect(b_.CreateICmpULT(magnitude, number(0x38800000)), subnormal, normal);
  result = b_.CreateSelect(b_.CreateICmpUGE(magnitude, number(0x477ff000)), number(0x7c00), result);
  Value* payload = b_.CreateAnd(b_.CreateLShr(magnitude, 13), number(0x3ff));
  Value* nan = b_.CreateOr(payload, number(0x7e00));
  result = b_.CreateSelect(b_.CreateICmpUGT(magnitude, number(0x7f800000)), nan, result);
  return b_.CreateTrunc(b_.CreateOr(result, sign), narrow);
}

Value* VectorMath::from_f16_bits(Value* bits) {
  Type* real = shaped_like(bits->getType(), b_.getFloatTy());
  if (machine_.has_f16c) {
    Type* half = shaped_like(bits->getType(), b_.getHalfTy());
    return b_.CreateFPExt(b_.CreateBitCast(bits, half), real);
  }
  Type* wide = shaped_like(bits->getType(), b_.getInt32Ty());
  const auto number = [&](std::uint32_t value) { return llvm::ConstantInt::get(wide, value); };
  Value* extended = b_.CreateZExt(bits, wide);
  Value* sign = b_.CreateShl(b_.CreateAnd(extended, number(0x8000)), 16);
  Value* magnitude = b_.CreateShl(b_.CreateAnd(extended, number(0x7fff)), 13);
  // As a float of 112 fewer powers of two: the multiplication moves the exponent, subnormals too.
  Value* scaled = b_.CreateFMul(b_.CreateBitCast(magnitude, real), constant(real, 0x1p112));
  Value* special = b_.CreateOr(magnitude, number(0x7f800000));
  Value* finite = b_.CreateBitCast(scaled, wide);
  Value* is_special = b_.CreateICmpUGE(magnitude, number(0x7c00U << 13));
  return b_.CreateBitCast(b_.CreateOr(b_.CreateSelect(is_special, special, finite), sign), real);
}

Value* VectorMath::round_to_odd(Value* f64) {
  Type* real = shaped_like(f64->getType(), b_.getFloatTy());
  Type* wide = shaped_like(f64->getType(), b_.getInt32Ty());
  Value* rounded = b_.CreateFPTrunc(f64, real);
  Value* back = b_.CreateFPExt(rounded, f64->getType());
  Value* away = b_.CreateFCmpOGT(absolute(back), absolute(f64));
  Value* bits = b_.CreateBitCast(rounded, wide);
  Value* one = llvm::ConstantInt::get(wide, 1);
  Value* odd = b_.CreateOr(b_.CreateSelect(away, b_.CreateSub(bits, one), bits), one);
  Value* inexact = b_.CreateFCmpONE(back, f64);
  return b_.CreateBitCast(b_.CreateSelect(inexact, odd, bits), real);
}

}  // namespace tilewright::cpu::jit
