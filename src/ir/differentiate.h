#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"

namespace tilewright::ir {

/// d score_mod / d (one captured load), for every load of a capture whose gradient is wanted.
struct LoadDerivative {
  std::uint32_t capture = 0;
  NodeId load = kNoNode;
  NodeId factor = kNoNode;
};

/// What backward evaluates beside the mods (semantics R6, R7): one program with score_mod, mask_mod
/// and their derivatives. Captures and numbers keep the slots of the program it came from, so that
/// its bindings serve both.
struct Derivative {
  std::shared_ptr<const Program> program;
  std::optional<NodeId> d_score;      ///< d score_mod / d score; absent where it is not wanted or 0
  std::vector<LoadDerivative> loads;  ///< loads whose derivative is 0 by structure are left out
};

/// Which derivatives a call needs.
struct DerivativeRequest {
  bool d_score = true;
  std::vector<bool> captures;  ///< per capture slot; an empty list wants none
};

/// Differentiates score_mod by the rows of ops.def, forwards from each leaf: the derivative of a
/// select is the select of the derivatives, so that a path not taken contributes exactly 0.
/// Throws Error{kUnsupported} where the result passes the limits of a program.
Derivative differentiate(const Program& program, const DerivativeRequest& request);

/// The derivatives as programs in the text form, one after another, for explain.
std::string derivative_text(const Derivative& derivative, const Bindings& bindings);

}  // namespace tilewright::ir
