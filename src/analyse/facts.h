#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"
#include "tilewright/problem.h"

namespace tilewright::analyse {

/// What a node depends on, as bits.
struct Dependence {
  bool score = false;
  bool b = false;
  bool h = false;
  bool q = false;
  bool kv = false;
};

/// Where a kernel computes a node: once per launch, per (b, h), per query row, per key column, or
/// per score.
enum class Placement : std::uint8_t { kLaunch, kTile, kRow, kColumn, kScore };

/// An integer node that equals q_factor * q + kv_factor * kv + rest, where rest depends on neither.
struct Affine {
  std::int64_t q_factor = 0;
  std::int64_t kv_factor = 0;
};

/// Facts that hold for a program's structure, whatever the numbers.
struct StructureFacts {
  std::vector<Dependence> dependence;         ///< per node
  std::vector<Placement> placement;           ///< per node
  std::vector<std::optional<Affine>> affine;  ///< per integer node
  bool mask_depends_on_b = false;
  bool mask_depends_on_h = false;
  bool mask_has_row_intervals = false;
};

/// How far past the lengths a tile may compute values that nobody looks at.
inline constexpr std::int64_t kMaxTileTokens = 1024;

/// Facts that need numbers, lengths and tables; they select among the variants of a structure at
/// run time.
struct BindingFacts {
  bool fits_int32 = false;  ///< every integer node, subscript and element offset stays inside int32
                            ///< and shift counts inside [0, 31], also kMaxTileTokens past the
                            ///< lengths
  bool subscripts_in_range = false;       ///< no live subscript can leave its tensor
  bool dead_subscripts_in_range = false;  ///< nor can one behind a false guard or mask, inside the
                                          ///< problem's lengths
  bool divisors_nonzero = false;          ///< no live integer division by zero
  std::optional<double> score_low, score_high;  ///< proven bounds of score_mod's finite results
  std::vector<std::string> reasons;             ///< one line a fact, for explain
};

StructureFacts structure_facts(const ir::Program& program);
BindingFacts binding_facts(const ir::Program& program, const ir::Bindings& bindings,
                           const Problem& problem);

/// One line a node and a fact, for explain.
std::string to_text(const StructureFacts& facts, const ir::Program& program);
std::string to_text(const BindingFacts& facts);

}  // namespace tilewright::analyse
