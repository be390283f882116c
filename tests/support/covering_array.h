#pragma once

#include <cstddef>
#include <vector>

namespace tilewright::cases {

/// One choice a factor.
using Choice = std::vector<std::size_t>;

/// Rows such that every pair of values of every two factors appears in at least one of them. Greedy
/// and deterministic: the same sizes give the same rows. `sizes` holds the number of values of each
/// factor, none of them 0.
std::vector<Choice> covering_array(const std::vector<std::size_t>& sizes);

/// Every combination; the last factor varies fastest.
std::vector<Choice> full_product(const std::vector<std::size_t>& sizes);

}  // namespace tilewright::cases
