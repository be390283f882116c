#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tilewright::ir {

/// What a node yields. Floats are fp32 in kernels and fp64 in the interpreter; integers are 64 bits
/// in meaning.
enum class Type : std::uint8_t { kFloat, kInt, kBool };

/// Operations: the leaves, then a row of ops.def each.
enum class Op : std::uint8_t {
  kScore,    ///< the scaled score
  kBatch,    ///< b
  kHead,     ///< h, the query head
  kQuery,    ///< logical query position
  kKey,      ///< logical key position
  kLiteral,  ///< part of the structure: 0, 1, -1, inf, NaN, true, false; payload holds the bits
  kNumber,   ///< a bound number; payload is its slot
  kLoad,     ///< a captured element; payload is the capture, operands are the indices and the guard
#define TILEWRIGHT_OP(id, fn, result, signature, expression, interval, derivative, edge) id,
#include "ir/ops.def"
#undef TILEWRIGHT_OP
};

inline constexpr std::size_t kLeafOps = 8;

/// One row of ops.def as data.
struct OpRow {
  Op op;
  std::string_view id;
  std::string_view fn;
  Type result;
  std::string_view signature;  ///< letters f i b, trailing g for the guard
  std::string_view expression;
  std::string_view interval;
  std::string_view derivative;
  std::string_view edge;

  std::size_t operand_count() const noexcept { return signature.size(); }
  bool has_guard() const noexcept { return signature.back() == 'g'; }
  /// Operands that an author writes: all but the guard.
  std::size_t written_operands() const noexcept { return operand_count() - (has_guard() ? 1 : 0); }
};

/// All rows, in the order of ops.def.
std::span<const OpRow> op_rows() noexcept;

/// The row of an operation that is no leaf.
const OpRow& row(Op op) noexcept;

/// Type of one letter of a signature; the guard is a truth value.
Type type_of(char letter) noexcept;

bool is_leaf(Op op) noexcept;

/// "float", "int", "bool"
std::string_view name(Type type) noexcept;

/// The row of `fn` that accepts these types with the fewest promotions (bool to int to float);
/// absent if none does.
std::optional<Op> resolve(std::string_view fn, std::span<const Type> operands) noexcept;

/// Whether any row has this function name.
bool is_function(std::string_view fn) noexcept;

}  // namespace tilewright::ir
