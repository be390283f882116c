#include "backends/cpu/jit/llvm/staged_code.h"

#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"

namespace tilewright::cpu::jit {

using llvm::Instruction;
using llvm::Value;

namespace {

/// Cycles until the result is there, roughly: of vectors on the CPUs of the day.
int latency_of(const Instruction& instruction) {
  constexpr int kFloat = 4, kLoad = 6, kDivision = 12, kCall = 30;
  if (llvm::isa<llvm::IntrinsicInst>(instruction)) return kFloat;
  if (llvm::isa<llvm::CallInst>(instruction)) return kCall;
  if (llvm::isa<llvm::LoadInst>(instruction)) return kLoad;
  if (instruction.getOpcode() == Instruction::FDiv) return kDivision;
  if (llvm::isa<llvm::CastInst>(instruction) || !instruction.getType()->isFPOrFPVectorTy())
    return llvm::isa<llvm::BitCastInst>(instruction) ? 0 : 1;
  return kFloat;
}

/// Its effect, or what it reads, belongs to the iteration.
bool is_pinned(const Instruction& instruction) {
  return instruction.mayReadOrWriteMemory() || instruction.mayHaveSideEffects();
}

/// Cycles before each instruction may begin, and before the last result is there.
struct Times {
  std::vector<int> begins;
  int end = 0;
};

Times times_of(const StraightCode& code) {
  std::unordered_map<const Value*, int> ends;
  Times times;
  for (const Instruction* instruction : code.instructions) {
    int begin = 0;
    for (const Value* operand : instruction->operands()) {
      const auto end = ends.find(operand);
      if (end != ends.end()) begin = std::max(begin, end->second);
    }
    times.begins.push_back(begin);
    ends[instruction] = begin + latency_of(*instruction);
    times.end = std::max(times.end, ends[instruction]);
  }
  return times;
}

/// Operand `operand` of instruction `user`, both by number: the first use of a value that the
/// second half takes from the first, or from the loop.
struct Crossing {
  std::size_t user;
  unsigned operand;
  Value* value;
};

/// The two halves of a body.
class Halves {
 public:
  Halves(const StraightCode& code, const Times& times, int cut) : code_(code) {
    for (std::size_t number = 0; number < code.instructions.size(); ++number)
      if (times.begins[number] >= cut) late_.insert(code.instructions[number]);
  }

  bool is_late(const Value* value) const { return late_.contains(value); }

  std::vector<Crossing> crossings() const {
    std::vector<Crossing> found;
    for (std::size_t user = 0; user < code_.instructions.size(); ++user)
      if (is_late(code_.instructions[user])) add_crossings(user, found);
    return found;
  }

 private:
  void add_crossings(std::size_t user, std::vector<Crossing>& found) const {
    const Instruction& instruction = *code_.instructions[user];
    for (unsigned operand = 0; operand < instruction.getNumOperands(); ++operand) {
      Value* const value = instruction.getOperand(operand);
      const auto* const source = llvm::dyn_cast<Instruction>(value);
      const bool is_of_loop = source != nullptr && source->getParent() == instruction.getParent();
      const auto is_same = [value](const Crossing& each) { return each.value == value; };
      if (is_of_loop && !is_late(value) && std::ranges::none_of(found, is_same))
        found.push_back({user, operand, value});
    }
  }

  const StraightCode& code_;
  std::unordered_set<const Value*> late_;
};

/// Whether all of the second half may run an iteration later, the result among it.
bool is_movable(const StraightCode& code, const Halves& halves) {
  const auto stays = [&](const Instruction* each) {
    return halves.is_late(each) && is_pinned(*each);
  };
  return halves.is_late(code.result) && std::ranges::none_of(code.instructions, stays);
}

}  // namespace

/// Near the middle, where the fewest values cross.
std::optional<int> middle_of(const StraightCode& code) {
  constexpr int kWorthwhileCycles = 60;
  const Times times = times_of(code);
  if (times.end < kWorthwhileCycles) return std::nullopt;
  std::optional<int> middle;
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (int cut = times.end * 3 / 8; cut <= times.end * 5 / 8; ++cut) {
    const Halves halves(code, times, cut);
    const std::size_t crossings = halves.crossings().size();
    if (crossings >= fewest || !is_movable(code, halves)) continue;
    fewest = crossings;
    middle = cut;
  }
  return middle;
}

StagedCode::StagedCode(Builder& b, const StraightCode& ahead, const StraightCode& body, int cut)
    : b_(b), result_(body.result) {
  TILEWRIGHT_CHECK(ahead.instructions.size() == body.instructions.size());
  llvm::Function* const function = b.GetInsertBlock()->getParent();
  const Halves halves(body, times_of(body), cut);
  const std::vector<Crossing> crossings = halves.crossings();
  {
    const llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(ahead.instructions.back()->getParent()->getTerminator());
    for (const Crossing& each : crossings)
      carried_.emplace_back(b_, function, ahead.instructions[each.user]->getOperand(each.operand));
    b_.SetInsertPoint(body.instructions.front());
    for (Variable& each : carried_) olds_.push_back(each.get());
  }
  for (std::size_t i = 0; i < crossings.size(); ++i) carried_[i].set(crossings[i].value);
  for (Instruction* instruction : body.instructions) {
    if (!halves.is_late(instruction)) continue;
    late_.push_back(instruction);
    for (std::size_t i = 0; i < crossings.size(); ++i)
      instruction->replaceUsesOfWith(crossings[i].value, olds_[i]);
  }
}

Value* StagedCode::last_result() {
  std::unordered_map<Value*, Value*> copies;
  for (std::size_t i = 0; i < carried_.size(); ++i) copies[olds_[i]] = carried_[i].get();
  for (Instruction* each : late_) {
    Instruction* const copy = each->clone();
    for (llvm::Use& operand : copy->operands()) {
      const auto found = copies.find(operand.get());
      if (found != copies.end()) operand.set(found->second);
    }
    copies[each] = b_.Insert(copy);
  }
  return copies.at(result_);
}

}  // namespace tilewright::cpu::jit
