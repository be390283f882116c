#include <llvm/IR/Module.h>

#include <string>

#include "backends/cpu/jit/llvm/op_emitter.h"
#include "backends/cpu/jit/llvm/symbols.h"

/// Calls of libm and SLEEF.
namespace tilewright::cpu::jit {

using llvm::Type;
using llvm::Value;

namespace {

llvm::FunctionCallee declare(Builder& builder, const std::string& name, Type* result,
                             std::size_t operand_count) {
  llvm::Module* module = builder.GetInsertBlock()->getModule();
  const llvm::SmallVector<Type*, 2> operands(operand_count, result);
  auto* type = llvm::FunctionType::get(result, operands, false);
  auto callee = module->getOrInsertFunction(name, type);
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotThrow();
  function->setDoesNotAccessMemory();
  function->setWillReturn();
  return callee;
}

}  // namespace

Value* OpEmitter::scalar_library(const char* name, llvm::ArrayRef<Value*> operands) {
  Type* type = operands.front()->getType();
  Type* scalar = type->getScalarType();
  const std::string symbol = scalar->isFloatTy() ? std::string(name) + "f" : name;
  const auto callee = declare(b_, symbol, scalar, operands.size());
  if (!type->isVectorTy()) return b_.CreateCall(callee, operands);
  Value* result = llvm::PoisonValue::get(type);
  for (unsigned lane = 0; lane < lane_count(type); ++lane) {
    llvm::SmallVector<Value*, 2> one;
    for (Value* operand : operands) one.push_back(b_.CreateExtractElement(operand, lane));
    result = b_.CreateInsertElement(result, b_.CreateCall(callee, one), lane);
  }
  return result;
}

Value* OpEmitter::library(const char* name, const Row& x, const char* accuracy) {
  llvm::SmallVector<Value*, 2> operands = {x.a};
  if (x.b != nullptr) operands.push_back(x.b);
  Type* type = x.type();
  const bool is_native =
      type->isVectorTy() && type->getPrimitiveSizeInBits() == machine_.vector_bits;
  if (like_interpreter_ || !is_native || !has_sleef()) return scalar_library(name, operands);
  const std::string symbol =
      std::string("Sleef_") + name + (type->getScalarType()->isFloatTy() ? "f" : "d") +
      std::to_string(lane_count(type)) + "_" + accuracy + machine_.sleef_suffix;
  return b_.CreateCall(declare(b_, symbol, type, operands.size()), operands);
}

}  // namespace tilewright::cpu::jit
