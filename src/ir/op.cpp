#include "ir/op.h"

#include <array>
#include <unordered_map>
#include <vector>

namespace tilewright::ir {

namespace {

constexpr Type kResult_f = Type::kFloat;
constexpr Type kResult_i = Type::kInt;
constexpr Type kResult_b = Type::kBool;

constexpr auto kRows = std::to_array<OpRow>({
#define TILEWRIGHT_OP(id, fn, result, signature, expression, interval, derivative, edge) \
  {Op::id, #id, #fn, kResult_##result, signature, #expression, #interval, derivative, edge},
#include "ir/ops.def"
#undef TILEWRIGHT_OP
});

bool promotes(Type from, Type to) {
  if (from == to) return true;
  if (to == Type::kFloat) return true;
  return to == Type::kInt && from == Type::kBool;
}

bool accepts(const OpRow& candidate, std::span<const Type> operands) {
  if (candidate.written_operands() != operands.size()) return false;
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (!promotes(operands[i], type_of(candidate.signature[i]))) return false;
  return true;
}

int promotions(const OpRow& candidate, std::span<const Type> operands) {
  int count = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Type wanted = type_of(candidate.signature[i]);
    if (operands[i] == wanted) continue;
    count += wanted == Type::kFloat && operands[i] == Type::kBool ? 2 : 1;
  }
  return count;
}

/// The rows of every function name: tracing resolves one name an operation.
const std::unordered_map<std::string_view, std::vector<const OpRow*>>& overloads() {
  static const auto* made = [] {
    auto* table = new std::unordered_map<std::string_view, std::vector<const OpRow*>>();
    for (const OpRow& candidate : kRows) (*table)[candidate.fn].push_back(&candidate);
    return table;
  }();
  return *made;
}

}  // namespace

std::span<const OpRow> op_rows() noexcept { return kRows; }

const OpRow& row(Op op) noexcept { return kRows[static_cast<std::size_t>(op) - kLeafOps]; }

Type type_of(char letter) noexcept {
  if (letter == 'f') return Type::kFloat;
  return letter == 'i' ? Type::kInt : Type::kBool;
}

bool is_leaf(Op op) noexcept { return static_cast<std::size_t>(op) < kLeafOps; }

std::string_view name(Type type) noexcept {
  switch (type) {
    case Type::kFloat:
      return "float";
    case Type::kInt:
      return "int";
    case Type::kBool:
      return "bool";
  }
  return "bool";
}

std::optional<Op> resolve(std::string_view fn, std::span<const Type> operands) noexcept {
  const auto rows = overloads().find(fn);
  if (rows == overloads().end()) return std::nullopt;
  const OpRow* best = nullptr;
  int fewest = 0;
  for (const OpRow* candidate : rows->second) {
    if (!accepts(*candidate, operands)) continue;
    const int count = promotions(*candidate, operands);
    if (best != nullptr && count >= fewest) continue;
    best = candidate;
    fewest = count;
  }
  if (best == nullptr) return std::nullopt;
  return best->op;
}

bool is_function(std::string_view fn) noexcept { return overloads().contains(fn); }

}  // namespace tilewright::ir
