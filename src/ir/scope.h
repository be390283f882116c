#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace tilewright::ir {

/// What one name of a text program stands for.
struct Named {
  enum class Kind : std::uint8_t { kValue, kCapture };
  Kind kind = Kind::kValue;
  std::uint32_t index = 0;  ///< node or capture
};

/// The names that a text program can read, and how its numbers enter the graph.
struct Scope {
  std::map<std::string, Named, std::less<>> names;
  /// Makes a name exist at its first use; null: there are no others.
  std::function<std::optional<Named>(std::string_view name)> declare;
  bool numbers_are_structure = false;
};

/// Names that mean the same in every program and cannot be declared or assigned.
bool is_reserved(std::string_view name);

}  // namespace tilewright::ir
