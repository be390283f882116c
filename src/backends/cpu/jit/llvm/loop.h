#pragma once

#include "backends/cpu/jit/llvm/builder.h"

namespace tilewright::cpu::jit {

/// A variable of generated code; becomes a register when the module is optimised.
class Variable {
 public:
  Variable(Builder& builder, llvm::Function* function, llvm::Value* initial)
      : b_(builder), type_(initial->getType()) {
    llvm::BasicBlock& entry = function->getEntryBlock();
    llvm::IRBuilder<> at_entry(&entry, entry.begin());
    slot_ = at_entry.CreateAlloca(type_);
    set(initial);
  }
  llvm::Value* get() { return b_.CreateLoad(type_, slot_); }
  void set(llvm::Value* value) { b_.CreateStore(value, slot_); }

 private:
  Builder& b_;
  llvm::Type* type_;
  llvm::AllocaInst* slot_;
};

/// for (i = begin; i < end; i += step) body(i), signed.
template <class Body>
void emit_loop(Builder& b, llvm::Value* begin, llvm::Value* end, std::int64_t step, Body&& body) {
  llvm::Function* function = b.GetInsertBlock()->getParent();
  Variable i(b, function, begin);
  auto* head = llvm::BasicBlock::Create(b.getContext(), "loop", function);
  auto* done = llvm::BasicBlock::Create(b.getContext(), "done", function);
  b.CreateCondBr(b.CreateICmpSLT(begin, end), head, done);
  b.SetInsertPoint(head);
  llvm::Value* current = i.get();
  body(current);
  llvm::Value* next = b.CreateAdd(current, b.getInt64(step));
  i.set(next);
  b.CreateCondBr(b.CreateICmpSLT(next, end), head, done);
  b.SetInsertPoint(done);
}

/// if (condition) then()
template <class Then>
void emit_if(Builder& b, llvm::Value* condition, llvm::MDNode* weights, Then&& then) {
  llvm::Function* function = b.GetInsertBlock()->getParent();
  auto* taken = llvm::BasicBlock::Create(b.getContext(), "then", function);
  auto* next = llvm::BasicBlock::Create(b.getContext(), "next", function);
  b.CreateCondBr(condition, taken, next, weights);
  b.SetInsertPoint(taken);
  then();
  b.CreateBr(next);
  b.SetInsertPoint(next);
}

}  // namespace tilewright::cpu::jit
