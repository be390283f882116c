#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/json.h"
#include "io/safetensors.h"
#include "owned_tensor.h"
#include "tilewright/engine.h"
#include "timing.h"

namespace tilewright::cli {

/// What running backward found.
struct GradientRun {
  std::vector<io::NamedTensor> gradients;  ///< d_query, d_key, d_value, then d_<capture>
  Timings timings;
  std::optional<std::string> mismatch;  ///< of the fp64 meaning, where it was asked for; "" passed
  std::vector<OwnedTensor> memory;

  bool passed() const { return !mismatch || mismatch->empty(); }
};

/// What to run backward on: a forward call, already made.
struct GradientCall {
  const Program& program;
  const ForwardInputs& inputs;
  const ForwardOutputs& outputs;  ///< out and lse
  const CallOptions& options;
  std::optional<TensorView> d_out;  ///< absent: standard normal from a seed
  std::int64_t repeat = 1;
  bool verify = false;
};

/// Every gradient that the call has, captured ones included.
GradientRun run_gradients(Engine& engine, const GradientCall& call);

io::Json to_json(const GradientRun& run);
std::string to_text(const GradientRun& run);

}  // namespace tilewright::cli
