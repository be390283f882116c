// What an emitted variant tells the kernel of captured gradients (semantics R7) beside the mods of
// its forward: for each load whose gradient is wanted the derivative of score_mod by it, and which
// element it reads.
#pragma once

#include "attention/mods_contract.cuh"

namespace tilewright::cuda {

/// What the subscripts of a load depend on, beside b and h.
enum class PlaceScope : i32 { kHead = 0, kRow = 1, kColumn = 2, kDiagonal = 3, kPair = 4 };

struct CaptureLoad {
  int target;  ///< which of the wanted captures
  PlaceScope scope;
  /// Different rows (columns, pairs) of one head read different elements.
  bool distinct;
};

struct HeadNumbers {
  i32 b;
  i32 h;
};

/// Chooses among the overloads of an emitted struct.
template <int kLoad>
struct LoadNumber {};

/// No load. An emitted struct has these members, and for each n < kLoads
///   - `float factor(LoadNumber<n>, const Bindings&, const ScoreSite<Mods>&)`: d score_mod / d
///   load; 0 where the load is not reached. minus_reference is 0.
///   - `i64 place(LoadNumber<n>, const Bindings&, const Head&, HeadNumbers, i32 at)`, the element's
///   number in row-major order, -1 outside the tensor; `at` is i, j or i - j as the scope says. For
///   kPair instead
///   - `i64 place(LoadNumber<n>, const Bindings&, const ScoreSite<Mods>&, HeadNumbers)`
struct NoCaptures {
  static constexpr int kLoads = 0;
  static constexpr __device__ CaptureLoad load(int /*n*/) { return {0, PlaceScope::kHead, false}; }
};

}  // namespace tilewright::cuda
