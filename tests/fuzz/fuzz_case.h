#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "support/forward.h"

namespace tilewright::cases {

/// One random call: everything follows from the seed, apart from what the fields say otherwise.
/// Neighbouring seeds share a program and its dtype, and differ in lengths, heads, dims, strides,
/// numbers in tables and data: so a kernel is compiled once and then serves calls that it was not
/// compiled for. Its spec "<seed>:<field>=<value>,..." lists only the fields that differ from what
/// the seed gives.
struct FuzzCase {
  std::uint64_t seed = 0;
  Extents extents;
  DType dtype = DType::kF32;
  Layout layout = Layout::kContiguous;
  std::set<std::string> pruned;  ///< paths of the program's trees that are leaves instead

  static constexpr std::uint64_t kCallsAProgram = 4;

  static FuzzCase from_seed(std::uint64_t seed);
  /// What the program follows from.
  std::uint64_t program_seed() const { return seed / kCallsAProgram; }
  /// Throws std::invalid_argument for a spec that it cannot read.
  static FuzzCase parse(std::string_view spec);
  std::string spec() const;
};

}  // namespace tilewright::cases
