#pragma once

#include <string_view>
#include <vector>

#include "author/brute_masks.h"

namespace tilewright::tests {

struct ScoreAt {
  double score = 0;
  ir::Position at;
};

/// What the reference says about one score, in doubles and with the catalogue's initial parameters;
/// tables in the order in which the entry lists them.
double brute_score(std::string_view name, const std::vector<Table>& tables, const Problem& problem,
                   const ScoreAt& at);

}  // namespace tilewright::tests
