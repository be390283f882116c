// What an emitted backward variant tells a kernel beside the mods of its forward, which it takes
// unchanged: the derivative of score_mod, and the mask seen from a key. docs/kernels/
// hopper_backward.md describes it; the emitter writes a struct with the members of
// IdentityGradient.
#pragma once

#include "attention/mods_contract.cuh"

namespace tilewright::cuda {

/// Query rows [begin, end) that a key is seen by; begin >= end is none.
struct QueryInterval {
  i32 begin;
  i32 end;
};

/// Everything the derivative of score_mod may look at.
template <class Mods>
struct GradientSite {
  float d_modified;  ///< dT: the gradient of what score_mod returned
  float score_log2;  ///< log2(e) times what score_mod returned
  /// As score_mod saw it; minus_reference is 0.
  const ScoreSite<Mods>& score;
};

/// score_mod is the score plus something that does not depend on it (or nothing): dS = dT. An
/// emitted struct has these members, and
///   - `float d_score(const Bindings&, const GradientSite<Mods>&)` if kHasScoreGradient: d_modified
///   times the derivative of score_mod by the score. A branch not taken contributes 0 by selection.
///   Whatever it gives where the probability is 0 is dropped.
///   - `QueryInterval interval(const Bindings&, const Head&, const Column&, i32 j, int which)` if
///   kQueryIntervals is not 0; it may reach past the last row.
struct IdentityGradient {
  static constexpr bool kHasScoreGradient = false;
  /// Number of query intervals whose union is what a key is seen by; 0 where the mask has no such
  /// form and the mods of the forward decide row by row.
  static constexpr int kQueryIntervals = 0;
};

}  // namespace tilewright::cuda
