#pragma once

#include "backends/cpu/jit/llvm/builder.h"
#include "backends/cpu/jit/llvm/vector_math.h"
#include "ir/op.h"

namespace tilewright::cpu::jit {

/// Writes the IR of one row of ops.def; operands are all scalars or all vectors. One member
/// function per row is declared from ops.def, so a row without a body does not build.
class OpEmitter {
 public:
  /// `like_interpreter`: libm for every lane, so that results equal the interpreter's bit for bit.
  OpEmitter(Builder& builder, VectorMath& math, const Machine& machine, bool like_interpreter)
      : b_(builder), math_(math), machine_(machine), like_interpreter_(like_interpreter) {}

  /// `real` is the float type of results, `integer` the integer element type of vector results.
  llvm::Value* emit(ir::Op op, llvm::ArrayRef<llvm::Value*> operands, llvm::Type* real,
                    llvm::Type* integer);

 private:
  /// Operands of a row and the element types of results.
  struct Row {
    llvm::Value* a = nullptr;
    llvm::Value* b = nullptr;
    llvm::Value* c = nullptr;
    llvm::Type* real = nullptr;
    llvm::Type* integer = nullptr;
    llvm::Type* type() const { return a->getType(); }
  };

#define TILEWRIGHT_OP(id, fn, result, signature, expression, interval, derivative, edge) \
  llvm::Value* id(const Row& x);
#include "ir/ops.def"
#undef TILEWRIGHT_OP

  llvm::Value* unary(llvm::Intrinsic::ID intrinsic, const Row& x);
  llvm::Value* remainder_with_sign_of_divisor(llvm::Value* remainder, llvm::Value* divisor,
                                              llvm::Value* adjusted);
  llvm::Value* number(const Row& x, double value);
  llvm::Value* integer(const Row& x, std::int64_t value);
  llvm::Value* truncated_quotient(const Row& x);
  llvm::Value* safe_divisor(const Row& x);
  llvm::Value* int32_quotient(llvm::Value* a, llvm::Value* b);
  /// A function of libm: SLEEF's vector form of `name` (suffix u10 or u15) where the machine has
  /// one and bits are free, else one call a lane.
  llvm::Value* library(const char* name, const Row& x, const char* accuracy = "u10");
  llvm::Value* scalar_library(const char* name, llvm::ArrayRef<llvm::Value*> operands);
  llvm::Value* wrap(const Row& x, unsigned bits, bool is_signed);

  Builder& b_;
  VectorMath& math_;
  const Machine& machine_;
  bool like_interpreter_;
};

}  // namespace tilewright::cpu::jit
