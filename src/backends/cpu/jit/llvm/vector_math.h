#pragma once

#include "backends/cpu/jit/llvm/builder.h"
#include "backends/cpu/jit/llvm/machine.h"

namespace tilewright::cpu::jit {

/// Functions of floats written in IR, for f32 and f64, scalars and vectors alike. ulp figures hold
/// for f32; f64 is within 1e-15 relative.
class VectorMath {
 public:
  VectorMath(Builder& builder, const Machine& machine) : b_(builder), machine_(machine) {}

  /// exp for arguments that may be large negative but not large positive (at most 88, f64 709):
  /// within 1.5 ulp + |x| / 8 ulp, exactly 1 at 0; below 2^-126.5 (f64 2^-1022.5) it gives 0,
  /// exactly 0 for -inf, NaN for NaN.
  llvm::Value* exp_of_shifted(llvm::Value* x);

  /// exp(x) for sixteen x <= 0 of fp32, within 3e-6 of the result and exactly 1 at 0, by AVX-512
  /// instructions: for what is rounded to bfloat16 afterwards.
  llvm::Value* rough_exp_of_shifted(llvm::Value* x);

  /// The whole domain, subnormal results included: 2 ulp.
  llvm::Value* exp(llvm::Value* x);
  llvm::Value* exp2(llvm::Value* x);

  /// 2 ulp everywhere, odd, +-1 from 9.02 on (f64 19.1).
  llvm::Value* tanh(llvm::Value* x);

  /// 1 / (1 + exp(-x)) without overflow: 3 ulp.
  llvm::Value* sigmoid(llvm::Value* x);

  /// a * b + c, fused where the machine can.
  llvm::Value* multiply_add(llvm::Value* a, llvm::Value* b, llvm::Value* c);

  /// Correctly rounded to bfloat16 bits (i16 elements); NaN stays NaN.
  llvm::Value* bf16_bits(llvm::Value* f32);
  /// The same by the machine's instruction where it has one, to which subnormal numbers are zeros.
  llvm::Value* bf16_bits_of_normals(llvm::Value* f32);
  /// The same to binary16, overflow to infinity.
  llvm::Value* f16_bits(llvm::Value* f32);
  llvm::Value* from_bf16_bits(llvm::Value* bits);
  llvm::Value* from_f16_bits(llvm::Value* bits);

  /// Rounds f64 to f32 such that a second rounding to a narrower format is correct.
  llvm::Value* round_to_odd(llvm::Value* f64);

  llvm::Value* constant(llvm::Type* type, double value);
  llvm::Value* absolute(llvm::Value* x);
  llvm::Value* with_sign_of(llvm::Value* magnitude, llvm::Value* sign);

 private:
  /// a / b, at most 1 ulp away, for b between 2^-100 and 2^100 and a finite quotient.
  llvm::Value* quotient(llvm::Value* a, llvm::Value* b);

  struct Reduced {
    llvm::Value* n_biased_bits;  ///< integer whose low bits hold n + bias
    llvm::Value* n;              ///< float
    llvm::Value* r;              ///< x - n ln 2
  };

  Reduced reduce(llvm::Value* x, double bias);
  llvm::Value* expm1_of_reduced(llvm::Value* r);
  llvm::Value* half_expm1_of_doubled(llvm::Value* r);
  llvm::Value* scale_by_power_of_two(llvm::Value* value, const Reduced& reduced);
  llvm::Value* power_of_two(llvm::Value* biased_exponent, llvm::Type* type);
  llvm::Value* at_least(llvm::Value* x, double low);
  llvm::Value* at_most(llvm::Value* x, double high);
  llvm::Type* integer_of(llvm::Type* type);

  Builder& b_;
  const Machine& machine_;
};

}  // namespace tilewright::cpu::jit
