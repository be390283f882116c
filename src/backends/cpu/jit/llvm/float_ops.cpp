#include <llvm/IR/Intrinsics.h>

#include "backends/cpu/jit/llvm/op_emitter.h"

/// Rows of ops.def on floats.
namespace tilewright::cpu::jit {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

Value* OpEmitter::number(const Row& x, double value) { return math_.constant(x.type(), value); }

Value* OpEmitter::unary(Intrinsic::ID intrinsic, const Row& x) {
  return b_.CreateUnaryIntrinsic(intrinsic, x.a);
}

Value* OpEmitter::add(const Row& x) { return b_.CreateFAdd(x.a, x.b); }
Value* OpEmitter::sub(const Row& x) { return b_.CreateFSub(x.a, x.b); }
Value* OpEmitter::mul(const Row& x) { return b_.CreateFMul(x.a, x.b); }
Value* OpEmitter::div(const Row& x) { return b_.CreateFDiv(x.a, x.b); }
Value* OpEmitter::neg(const Row& x) { return b_.CreateFNeg(x.a); }
Value* OpEmitter::fabs(const Row& x) { return unary(Intrinsic::fabs, x); }

Value* OpEmitter::fsign(const Row& x) {
  Value* below = b_.CreateFCmpOLT(x.a, number(x, 0));
  Value* above = b_.CreateFCmpOGT(x.a, number(x, 0));
  return b_.CreateSelect(above, number(x, 1), b_.CreateSelect(below, number(x, -1), x.a));
}

// minps(b, a) gives a where either is NaN; what is left is a NaN in b.
Value* OpEmitter::fmin(const Row& x) {
  Value* least = b_.CreateSelect(b_.CreateFCmpOLT(x.b, x.a), x.b, x.a);
  Value* first = b_.CreateFCmpORD(x.b, x.b);
  return b_.CreateSelect(first, least, b_.CreateSelect(b_.CreateFCmpUNO(x.a, x.a), x.a, x.b));
}

Value* OpEmitter::fmax(const Row& x) {
  Value* most = b_.CreateSelect(b_.CreateFCmpOGT(x.b, x.a), x.b, x.a);
  Value* first = b_.CreateFCmpORD(x.b, x.b);
  return b_.CreateSelect(first, most, b_.CreateSelect(b_.CreateFCmpUNO(x.a, x.a), x.a, x.b));
}

Value* OpEmitter::fclamp(const Row& x) { return fmin({fmax(x), x.c, nullptr, x.real, x.integer}); }

Value* OpEmitter::relu(const Row& x) {
  return fmax({x.a, number(x, 0), nullptr, x.real, x.integer});
}

Value* OpEmitter::ffloor(const Row& x) { return unary(Intrinsic::floor, x); }
Value* OpEmitter::fceil(const Row& x) { return unary(Intrinsic::ceil, x); }
Value* OpEmitter::fround(const Row& x) { return unary(Intrinsic::nearbyint, x); }
Value* OpEmitter::ftrunc(const Row& x) { return unary(Intrinsic::trunc, x); }

Value* OpEmitter::ffloor_div(const Row& x) {
  return b_.CreateUnaryIntrinsic(Intrinsic::floor, b_.CreateFDiv(x.a, x.b));
}
Value* OpEmitter::ftrunc_div(const Row& x) {
  return b_.CreateUnaryIntrinsic(Intrinsic::trunc, b_.CreateFDiv(x.a, x.b));
}
Value* OpEmitter::ftrunc_mod(const Row& x) { return scalar_library("fmod", {x.a, x.b}); }

Value* OpEmitter::ffloor_mod(const Row& x) {
  Value* remainder = ftrunc_mod(x);
  Value* zero = number(x, 0);
  Value* opposite = b_.CreateXor(b_.CreateFCmpOLT(remainder, zero), b_.CreateFCmpOLT(x.b, zero));
  Value* adjust = b_.CreateAnd(b_.CreateFCmpUNE(remainder, zero), opposite);
  return b_.CreateSelect(adjust, b_.CreateFAdd(remainder, x.b), remainder);
}

Value* OpEmitter::exp(const Row& x) {
  return like_interpreter_ ? library("exp", x) : math_.exp(x.a);
}
Value* OpEmitter::exp2(const Row& x) {
  return like_interpreter_ ? library("exp2", x) : math_.exp2(x.a);
}
Value* OpEmitter::tanh(const Row& x) {
  return like_interpreter_ ? library("tanh", x) : math_.tanh(x.a);
}

Value* OpEmitter::expm1(const Row& x) { return library("expm1", x); }
Value* OpEmitter::log(const Row& x) { return library("log", x); }
Value* OpEmitter::log2(const Row& x) { return library("log2", x); }
// SLEEF's log1p, sinh and cosh give infinity before the result leaves float's range.
Value* OpEmitter::log1p(const Row& x) { return scalar_library("log1p", {x.a}); }
Value* OpEmitter::sin(const Row& x) { return library("sin", x); }
Value* OpEmitter::cos(const Row& x) { return library("cos", x); }
Value* OpEmitter::tan(const Row& x) { return library("tan", x); }
Value* OpEmitter::sinh(const Row& x) { return scalar_library("sinh", {x.a}); }
Value* OpEmitter::cosh(const Row& x) { return scalar_library("cosh", {x.a}); }
Value* OpEmitter::atan(const Row& x) { return library("atan", x); }
Value* OpEmitter::erf(const Row& x) { return library("erf", x); }
Value* OpEmitter::pow(const Row& x) { return library("pow", x); }

Value* OpEmitter::sqrt(const Row& x) { return unary(Intrinsic::sqrt, x); }
Value* OpEmitter::rsqrt(const Row& x) { return b_.CreateFDiv(number(x, 1), sqrt(x)); }

// The interpreter's own form: 1 / (1 + exp(-a)) for a >= 0, e / (1 + e) with e = exp(a) below.
Value* OpEmitter::sigmoid(const Row& x) {
  if (!like_interpreter_) return math_.sigmoid(x.a);
  Value* one = number(x, 1);
  Row argument = x;
  Value* is_positive = b_.CreateFCmpOGE(x.a, number(x, 0));
  argument.a = b_.CreateSelect(is_positive, b_.CreateFNeg(x.a), x.a);
  Value* e = library("exp", argument);
  Value* numerator = b_.CreateSelect(is_positive, one, e);
  return b_.CreateFDiv(numerator, b_.CreateFAdd(one, e));
}

Value* OpEmitter::silu(const Row& x) { return b_.CreateFMul(x.a, sigmoid(x)); }

Value* OpEmitter::gelu(const Row& x) {
  Row argument = x;
  argument.a = b_.CreateFMul(b_.CreateFNeg(x.a), number(x, 0.70710678118654752440));
  Value* half = b_.CreateFMul(number(x, 0.5), x.a);
  return b_.CreateFMul(half, library("erfc", argument, "u15"));
}

Value* OpEmitter::softplus(const Row& x) {
  Row inner = x;
  inner.a = b_.CreateFNeg(math_.absolute(x.a));
  inner.a = exp(inner);
  Value* zero = number(x, 0);
  Value* linear = b_.CreateSelect(b_.CreateFCmpOGT(x.a, zero), x.a, zero);
  Value* sum = b_.CreateFAdd(linear, log1p(inner));
  return b_.CreateFAdd(sum, b_.CreateSelect(b_.CreateFCmpUNO(x.a, x.a), x.a, zero));
}

Value* OpEmitter::isnan(const Row& x) { return b_.CreateFCmpUNO(x.a, x.a); }

Value* OpEmitter::isinf(const Row& x) {
  llvm::Constant* infinity = llvm::ConstantFP::getInfinity(x.type());
  return b_.CreateFCmpOEQ(math_.absolute(x.a), infinity);
}

}  // namespace tilewright::cpu::jit
