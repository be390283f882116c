#include "backends/cpu/jit/llvm/vector_math.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <array>
#include <cmath>
#include <span>

namespace tilewright::cpu::jit {

using llvm::Type;
using llvm::Value;

namespace {

// (exp(r) - 1 - r) / r^2 on |r| <= ln(2)/2, lowest power first: Chebyshev interpolation, within
// 1.1e-8 (f32) and 2e-17 (f64) of exp(r).
constexpr std::array kF32Tail = {0.5, 0.16666573286056519, 0.04166654869914055,
                                 0.008363774046301842, 0.0013926926767453551};
constexpr std::array kF64Tail = {
    0x1.0000000000001p-1,  0x1.5555555555556p-3,  0x1.5555555553b6cp-5,  0x1.1111111110918p-7,
    0x1.6c16c1794e1dcp-10, 0x1.a01a01a83ba17p-13, 0x1.a019b621f9d08p-16, 0x1.71de0be2b5e96p-19,
    0x1.2894f52583578p-22, 0x1.af3ce42b12b24p-26};

// 2^r on |r| <= 1/2, lowest power first: f32 minimises the largest relative error (9.2e-8) with the
// constant 1 kept, f64 is Taylor's (2e-16).
constexpr std::array kF32Exp2 = {1.0,
                                 0.6931470036506653,
                                 0.24022242426872253,
                                 0.05550733581185341,
                                 0.009671512991189957,
                                 0.0013264723820611835};
/// 2^r on [0, 1), within 2.9e-6, the constant 1 kept.
constexpr std::array kRoughExp2 = {1.0, 0.6930448412895203, 0.241280198097229, 0.05224247276782990,
                                   0.013426684774458408};
constexpr std::array kF64Exp2 = {1.0,
                                 0.69314718055994530942,
                                 0.24022650695910071233,
                                 0.055504108664821579953,
                                 0.0096181291076284771619,
                                 0.0013333558146428443423,
                                 0.00015403530393381609954,
                                 1.5252733804059840280e-5,
                                 1.3215486790144309489e-6,
                                 1.0178086009239699728e-7,
                                 7.0549116208011233298e-9,
                                 4.4455382718708114976e-10,
                                 2.5678435993488205141e-11};

/// What differs between f32 and f64. ln 2 comes in two parts (Cody and Waite) of which n times the
/// first is exact.
struct Format {
  double ln2_high;
  double ln2_low;
  double magic;  ///< 1.5 * 2^mantissa: adding it rounds to an integer in the low bits
  unsigned mantissa_bits;
  double bias;
  double overflow;   ///< exp is infinite from here on
  double underflow;  ///< and 0 below this
  double tanh_one;   ///< tanh rounds to 1 from here on
  std::span<const double> tail;
  std::span<const double> exp2;
};

constexpr Format kF32{0.693359375, -2.12194440e-4, 0x1.8p23, 23,       127,
                      89.0,        -105.0,         9.02,     kF32Tail, kF32Exp2};
constexpr Format kF64{6.93145751953125e-1,
                      1.42860682030941723212e-6,
                      0x1.8p52,
                      52,
                      1023,
                      710.0,
                      -746.0,
                      19.1,
                      kF64Tail,
                      kF64Exp2};

constexpr double kLog2E = 1.44269504088896340736;
constexpr double kLn2 = 0.69314718055994530942;

const Format& format_of(Type* type) { return type->getScalarType()->isFloatTy() ? kF32 : kF64; }

}  // namespace

Value* VectorMath::constant(Type* type, double value) { return llvm::ConstantFP::get(type, value); }

Type* VectorMath::integer_of(Type* type) {
  return shaped_like(type, b_.getIntNTy(type->getScalarSizeInBits()));
}

Value* VectorMath::multiply_add(Value* a, Value* b, Value* c) {
  return b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {a->getType()}, {a, b, c});
}

Value* VectorMath::absolute(Value* x) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); }

Value* VectorMath::with_sign_of(Value* magnitude, Value* sign) {
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude, sign);
}

// Both forms keep NaN and are one instruction of x86 (maxps and minps give their second operand).
Value* VectorMath::at_least(Value* x, double low) {
  Value* bound = constant(x->getType(), low);
  return b_.CreateSelect(b_.CreateFCmpOLT(x, bound), bound, x);
}

Value* VectorMath::at_most(Value* x, double high) {
  Value* bound = constant(x->getType(), high);
  return b_.CreateSelect(b_.CreateFCmpOGT(x, bound), bound, x);
}

VectorMath::Reduced VectorMath::reduce(Value* x, double bias) {
  Type* type = x->getType();
  const Format& format = format_of(type);
  Value* magic = constant(type, format.magic + bias);
  Value* shifted = multiply_add(x, constant(type, kLog2E), magic);
  Value* n = b_.CreateFSub(shifted, magic);
  Value* r = multiply_add(n, constant(type, -format.ln2_high), x);
  r = multiply_add(n, constant(type, -format.ln2_low), r);
  return {b_.CreateBitCast(shifted, integer_of(type)), n, r};
}

Value* VectorMath::expm1_of_reduced(Value* r) {
  Type* type = r->getType();
  const std::span<const double> tail = format_of(type).tail;
  Value* sum = constant(type, tail.back());
  for (std::size_t i = tail.size() - 1; i-- > 0;)
    sum = multiply_add(sum, r, constant(type, tail[i]));
  return multiply_add(b_.CreateFMul(sum, r), r, r);
}

Value* VectorMath::exp_of_shifted(Value* x) {
  Type* type = x->getType();
  const Format& format = format_of(type);
  // Below -bias * ln 2 the biased exponent is 0, hence the scale 0: the result is exactly 0.
  x = at_least(x, -format.bias * kLn2);
  Value* log2e = constant(type, kLog2E);
  Value* magic = constant(type, format.magic + format.bias);
  Value* shifted = multiply_add(x, log2e, magic);
  Value* n = b_.CreateFSub(shifted, magic);
  Value* r = multiply_add(x, log2e, b_.CreateFNeg(n));
  const std::span<const double> powers = format.exp2;
  Value* sum = constant(type, powers.back());
  for (std::size_t i = powers.size() - 1; i-- > 0;)
    sum = multiply_add(sum, r, constant(type, powers[i]));
  return b_.CreateFMul(sum, power_of_two(b_.CreateBitCast(shifted, integer_of(type)), type));
}

Value* VectorMath::rough_exp_of_shifted(Value* x) {
  constexpr int kFractionAboveFloor = 0x09;  // immediate of vreduceps: no bits kept, round down
  constexpr int kCurrentRounding = 4;
  Type* type = x->getType();
  Value* none = llvm::Constant::getNullValue(type);
  Value* power = b_.CreateFMul(x, constant(type, kLog2E));
  Value* r = b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_reduce_ps_512, {},
                                {power, b_.getInt32(kFractionAboveFloor), none, b_.getInt16(0xffff),
                                 b_.getInt32(kCurrentRounding)});
  Value* sum = constant(type, kRoughExp2.back());
  for (std::size_t i = kRoughExp2.size() - 1; i-- > 0;)
    sum = multiply_add(sum, r, constant(type, kRoughExp2[i]));
  // Subnormal results are slow to make and count for nothing; NaN is kept.
  Value* counts = b_.CreateFCmpUGE(power, constant(type, -126));
  return b_.CreateIntrinsic(
      llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
      {sum, power, none, b_.CreateBitCast(counts, b_.getInt16Ty()), b_.getInt32(kCurrentRounding)});
}

Value* VectorMath::power_of_two(Value* biased_exponent, Type* type) {
  const unsigned shift = format_of(type).mantissa_bits;
  return b_.CreateBitCast(b_.CreateShl(biased_exponent, shift), type);
}

Value* VectorMath::scale_by_power_of_two(Value* value, const Reduced& reduced) {
  Type* type = value->getType();
  const Format& format = format_of(type);
  Type* integer = integer_of(type);
  // In two steps, so that results below and above the normal range round and overflow once.
  Value* magic = b_.CreateBitCast(constant(type, format.magic), integer);
  Value* n = b_.CreateSub(reduced.n_biased_bits, magic);
  Value* half = b_.CreateAShr(n, 1);
  Value* bias = llvm::ConstantInt::get(integer, static_cast<std::uint64_t>(format.bias));
  Value* first = power_of_two(b_.CreateAdd(half, bias), type);
  Value* second = power_of_two(b_.CreateAdd(b_.CreateSub(n, half), bias), type);
  return b_.CreateFMul(b_.CreateFMul(value, first), second);
}

Value* VectorMath::exp(Value* x) {
  const Format& format = format_of(x->getType());
  x = at_most(at_least(x, format.underflow), format.overflow);
  const Reduced reduced = reduce(x, 0);
  Value* mantissa = b_.CreateFAdd(expm1_of_reduced(reduced.r), constant(x->getType(), 1));
  return scale_by_power_of_two(mantissa, reduced);
}

Value* VectorMath::exp2(Value* x) {
  Type* type = x->getType();
  const Format& format = format_of(type);
  x = at_most(at_least(x, format.underflow / kLn2), format.overflow / kLn2);
  Value* magic = constant(type, format.magic);
  Value* shifted = b_.CreateFAdd(x, magic);
  Value* n = b_.CreateFSub(shifted, magic);
  Value* r = b_.CreateFMul(b_.CreateFSub(x, n), constant(type, kLn2));
  const Reduced reduced{b_.CreateBitCast(shifted, integer_of(type)), n, r};
  Value* mantissa = b_.CreateFAdd(expm1_of_reduced(r), constant(type, 1));
  return scale_by_power_of_two(mantissa, reduced);
}

// tanh |x| = h / (h + 1) with h = expm1(2 |x|) / 2 = 2^n k + (2^(n - 1) - 1/2), |x| = n ln(2)/2 +
// r, k = expm1(2 r) / 2: no cancellation near 0. An error of h counts 1 / (h + 1) times, so that
// one step of reduction is exact enough wherever n is not 0. Within 2 ulp in f32.
Value* VectorMath::tanh(Value* x) {
  Type* type = x->getType();
  const Format& format = format_of(type);
  Value* magnitude = at_most(absolute(x), format.tanh_one);
  Value* magic = constant(type, format.magic + format.bias);
  Value* shifted = multiply_add(magnitude, constant(type, 2 * kLog2E), magic);
  Value* n = b_.CreateFSub(shifted, magic);
  Value* r = multiply_add(n, constant(type, -kLn2 / 2), magnitude);
  Value* scale = power_of_two(b_.CreateBitCast(shifted, integer_of(type)), type);
  Value* half_scale = multiply_add(scale, constant(type, 0.5), constant(type, -0.5));
  Value* k = half_expm1_of_doubled(r);
  Value* h = multiply_add(k, scale, half_scale);
  Value* denominator = b_.CreateFAdd(h, constant(type, 1));
  Value* q = quotient(h, denominator);
  // The rounding of h + 1 is most of what q is wrong by where h is small. There q = h - h q, in
  // which an error of q counts h times.
  Value* near = nullptr;
  if (machine_.has_fma) {
    near = multiply_add(b_.CreateFNeg(h), q, h);
  } else {
    // What the sum of h lost is one rounding too many without fused products.
    Value* lost = b_.CreateFAdd(b_.CreateFSub(half_scale, h), b_.CreateFMul(k, scale));
    near = b_.CreateFSub(h, b_.CreateFSub(b_.CreateFMul(h, q), lost));
  }
  Value* is_small = b_.CreateFCmpOLT(h, constant(type, 0.5));
  return with_sign_of(b_.CreateSelect(is_small, near, q), x);
}

// expm1(2 r) / 2 = r + r^2 (s0 + s1 r + ...) with s_i = 2^(i + 1) tail_i. Even and odd powers are
// summed side by side: half as many steps wait for one another.
Value* VectorMath::half_expm1_of_doubled(Value* r) {
  Type* type = r->getType();
  const std::span<const double> tail = format_of(type).tail;
  Value* square = b_.CreateFMul(r, r);
  std::array<Value*, 2> sums = {nullptr, nullptr};
  for (std::size_t i = tail.size(); i-- > 0;) {
    Value* power = constant(type, std::ldexp(tail[i], static_cast<int>(i) + 1));
    Value*& sum = sums[i % 2];
    sum = sum == nullptr ? power : multiply_add(sum, square, power);
  }
  return multiply_add(multiply_add(sums[1], r, sums[0]), square, r);
}

Value* VectorMath::quotient(Value* a, Value* b) {
  Type* type = a->getType();
  const bool is_wide =
      machine_.has_mask_registers && type->isVectorTy() && type->getScalarType()->isFloatTy();
  if (!is_wide) return b_.CreateFDiv(a, b);
  // A division of sixteen takes as long as thirty multiplications.
  Value* guess = b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_rcp14_ps_512, {},
                                    {b, llvm::Constant::getNullValue(type), b_.getInt16(0xffff)});
  Value* minus = b_.CreateFNeg(b);
  Value* error = multiply_add(minus, guess, constant(type, 1));
  Value* reciprocal = multiply_add(error, guess, guess);
  Value* near = b_.CreateFMul(a, reciprocal);
  return multiply_add(multiply_add(minus, near, a), reciprocal, near);
}

Value* VectorMath::sigmoid(Value* x) {
  Type* type = x->getType();
  Value* e = exp(b_.CreateFNeg(absolute(x)));
  Value* one = constant(type, 1);
  Value* upper = b_.CreateFDiv(one, b_.CreateFAdd(one, e));
  return b_.CreateSelect(b_.CreateFCmpOLT(x, constant(type, 0)), b_.CreateFMul(e, upper), upper);
}

}  // namespace tilewright::cpu::jit
