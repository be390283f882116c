#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace tilewright::reference {

/// What the softmax of one row leaves behind (semantics R4, R5).
template <class F>
struct RowSoftmax {
  F max = -std::numeric_limits<F>::infinity();  ///< over live keys; NaN if one of them is NaN
  F lse = -std::numeric_limits<F>::infinity();
  std::int64_t live_keys = 0;
  std::vector<bool> live;
};

/// Replaces scores t by probabilities. A score of -inf is a dead key and gets 0; NaN is live and
/// makes the row NaN; a live +inf makes the row NaN and lse +inf.
template <class F>
RowSoftmax<F> softmax_in_place(std::vector<F>& scores) {
  constexpr F kInfinity = std::numeric_limits<F>::infinity();
  constexpr std::size_t kBlock = 256;
  RowSoftmax<F> row;
  row.live.resize(scores.size());
  for (std::size_t j = 0; j < scores.size(); ++j) {
    row.live[j] = scores[j] != -kInfinity;
    if (!row.live[j]) continue;
    ++row.live_keys;
    // The comparison keeps a NaN that is already there.
    if (std::isnan(scores[j]) || scores[j] > row.max) row.max = scores[j];
  }
  if (row.live_keys == 0) {
    std::fill(scores.begin(), scores.end(), F{0});
    return row;
  }
  F sum = 0;
  for (std::size_t begin = 0; begin < scores.size(); begin += kBlock) {
    F block = 0;
    for (std::size_t j = begin; j < std::min(begin + kBlock, scores.size()); ++j) {
      scores[j] = row.live[j] ? std::exp(scores[j] - row.max) : F{0};
      block += scores[j];
    }
    sum += block;
  }
  for (F& score : scores) score /= sum;
  row.lse = row.max == kInfinity ? kInfinity : row.max + std::log(sum);
  return row;
}

}  // namespace tilewright::reference
