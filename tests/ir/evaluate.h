#pragma once

#include <string_view>
#include <utility>

#include "ir/interpret.h"
#include "ir/program.h"
#include "ir/text.h"

namespace tilewright::tests {

/// The mask of a text program at one place.
inline bool mask_at(std::string_view text, const ir::Position& at,
                    const ir::Declarations& declared = {}) {
  const auto [program, bindings] = ir::parse(text, declared);
  return ir::Interpreter(program, bindings).mask(at);
}

/// The score of a text program at one place.
inline double score_at(std::string_view text, double score = 0, const ir::Position& at = {},
                       const ir::Declarations& declared = {}) {
  const auto [program, bindings] = ir::parse(text, declared);
  return ir::Interpreter(program, bindings).score(score, at);
}

inline ir::Position pair(std::int64_t q, std::int64_t kv) {
  return {.b = 0, .h = 0, .q = q, .kv = kv};
}

}  // namespace tilewright::tests
