#pragma once

#include <optional>
#include <vector>

#include "backends/cpu/jit/llvm/loop.h"

namespace tilewright::cpu::jit {

/// Straight-line code that computes one value from what the loop around it provides.
struct StraightCode {
  std::vector<llvm::Instruction*> instructions;
  llvm::Value* result = nullptr;
};

/// What `emit` writes at the builder's place; empty where it is more than one block.
template <class Emit>
std::optional<StraightCode> straight_code(Builder& b, Emit&& emit) {
  llvm::BasicBlock* const block = b.GetInsertBlock();
  const std::size_t before = block->size();
  StraightCode code;
  code.result = emit();
  if (b.GetInsertBlock() != block) return std::nullopt;
  auto each = std::next(block->begin(), static_cast<std::ptrdiff_t>(before));
  for (; each != block->end(); ++each) code.instructions.push_back(&*each);
  return code;
}

/// Where to cut: instructions that cannot begin within so many cycles are the second half. Empty
/// where the code is too short for halves to pay.
std::optional<int> middle_of(const StraightCode& code);

/// A loop body cut in two where about half of its latency is over: the second half works on what
/// the first left an iteration earlier, so that half as many steps wait for one another.
class StagedCode {
 public:
  /// @param ahead  the code of the first iteration, in front of the loop: its first half counts
  /// @param body   the same code in the loop, last in its block so far; it is rewired
  /// @param cut    middle_of(ahead)
  StagedCode(Builder& b, const StraightCode& ahead, const StraightCode& body, int cut);

  /// The value of the iteration before, in the loop.
  llvm::Value* result() const { return result_; }
  /// Writes the second half for the last iteration, behind the loop.
  llvm::Value* last_result();

 private:
  Builder& b_;
  std::vector<Variable> carried_;
  std::vector<llvm::Instruction*> late_;
  std::vector<llvm::Value*> olds_;  ///< the carried values as the loop reads them
  llvm::Value* result_ = nullptr;
};

}  // namespace tilewright::cpu::jit
