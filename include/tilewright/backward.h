#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tilewright/tensor.h"

#pragma GCC visibility push(default)

namespace tilewright {

/// What backward reads: the tensors of the forward call, what it wrote, and the gradient of that.
/// query [B, Hq, Q, E], key [Bkv, Hkv, KV, E], value [Bkv, Hkv, KV, Ev], out and d_out
/// [B, Hq, Q, Ev], lse and d_lse [B, Hq, Q]; any strides, 0 (expanded) among them. out, d_out and
/// d_lse may have any floating dtype; lse is fp32 (fp64 for fp64 inputs).
struct BackwardInputs {
  TensorView query, key, value;
  TensorView out, lse;
  TensorView d_out;
  std::optional<TensorView> d_lse;  ///< gradient of lse; absent: 0
};

/// What backward writes; an absent gradient costs nothing. Shapes are those of the tensors, dtypes
/// any floating ones, strides any that give every element a place of its own. A captured gradient
/// has its tensor's shape and dtype; entries that no live pair read become exactly 0.
struct BackwardOutputs {
  std::optional<TensorView> d_query, d_key, d_value;
  std::map<std::string, TensorView> captures;  ///< by name of the captured tensor
};

/// Which gradients prepare_backward() gets ready for.
struct GradientSet {
  bool query = true;
  bool key = true;
  bool value = true;
  std::vector<std::string> captures;
  bool deterministic = false;  ///< as CallOptions::deterministic
};

}  // namespace tilewright

#pragma GCC visibility pop
