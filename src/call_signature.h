#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "ir/program.h"
#include "tilewright/problem.h"
#include "tilewright/program.h"

namespace tilewright {

/// What kernel and spans of a call depend on beside its structure, kept to be compared exactly:
/// lengths, numbers, views of captures and, where tables decide, their contents.
class CallSignature {
 public:
  /// Absent where tables are too large, or too scattered in memory, to be kept.
  static std::optional<CallSignature> of(const Program& program, const Problem& problem,
                                         bool with_tables);

  /// Whether a call would have this signature. Reads tables; allocates nothing.
  bool matches(const Program& program, const Problem& problem) const;

 private:
  bool same_views(const std::vector<TensorView>& captures) const;

  Problem problem_;
  std::vector<ir::NumberValue> numbers_;
  std::vector<TensorView> captures_;
  std::vector<std::vector<std::byte>> tables_;  ///< one a capture, empty without tables
};

}  // namespace tilewright
