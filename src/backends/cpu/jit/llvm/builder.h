#pragma once

#include <llvm/Analysis/InstSimplifyFolder.h>
#include <llvm/IR/IRBuilder.h>

namespace tilewright::cpu::jit {

/// Folds on the way in, so that no clean-up pass is needed for x * 1 and the like.
using Builder = llvm::IRBuilder<llvm::InstSimplifyFolder>;

/// `type` with as many elements as `shape` has.
inline llvm::Type* shaped_like(llvm::Type* shape, llvm::Type* type) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(shape);
  return vector != nullptr ? llvm::FixedVectorType::get(type, vector->getNumElements()) : type;
}

/// 1 for a scalar.
inline unsigned lane_count(llvm::Type* type) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector != nullptr ? vector->getNumElements() : 1;
}

}  // namespace tilewright::cpu::jit
