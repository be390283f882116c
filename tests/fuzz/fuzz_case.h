#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "support/forward.h"

namespace tilewright::cases {

/// One random call: everything follows from the seed, apart from what the fields say otherwise. Its
/// spec "<seed>:<field>=<value>,..." lists only the fields that differ from what the seed gives.
struct FuzzCase {
  std::uint64_t seed = 0;
  Extents extents;
  DType dtype = DType::kF32;
  Layout layout = Layout::kContiguous;
  std::set<std::string> pruned;  ///< paths of the program's trees that are leaves instead

  static FuzzCase from_seed(std::uint64_t seed);
  /// Throws std::invalid_argument for a spec that it cannot read.
  static FuzzCase parse(std::string_view spec);
  std::string spec() const;
};

}  // namespace tilewright::cases
