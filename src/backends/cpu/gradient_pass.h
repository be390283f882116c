#pragma once

#include <cstdint>

#include "backends/cpu/score_pass.h"

namespace tilewright::cpu {

/// One tile of scores in the backward, between its products. For every row r and column c in
/// [col_begin, col_end):
///   t = score_mod(scale * score[r][c], b, h, q, kv);  live where mask_mod holds (masked pass) and
///   t != -inf
///   prob[r][c] = live ? exp(t - row_lse[r]) : 0
///   d_t = live ? prob * (d_prob[r][c] - row_delta[r]) : 0            (semantics R6)
///   d_score[r][c] = live ? d_t * d score_mod / d score : 0
///   sums of each wanted capture += d_t * d score_mod / d load        (semantics R7)
/// Columns outside [col_begin, col_end) up to prob_cols get prob and d_score 0. Of `pass`,
/// row_max, row_shift, row_sum and row_alpha are not used; prob may alias score, and d_score
/// d_prob, where the element sizes agree.
struct GradientTile {
  PassTile pass;
  const void* d_prob = nullptr;     ///< Real [rows][score_stride]: d_out . value
  void* d_score = nullptr;          ///< like prob [rows][prob_stride]; only where dS is wanted
  const void* row_lse = nullptr;    ///< Real [rows]; +inf for a row without a live pair
  const void* row_delta = nullptr;  ///< Real [rows]: sum of p * dP, less the gradient of lse
  /// Per capture slot a Real for every element, row-major and at least one; null for captures whose
  /// gradient is not wanted.
  void* const* capture_sums = nullptr;
};

}  // namespace tilewright::cpu
