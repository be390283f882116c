#pragma once

#include "tilewright/backward.h"
#include "tilewright/engine.h"
#include "tilewright/error.h"

namespace tilewright {

/// What forward(), backward() or prepare() was given, as far as it can be repeated: forward() and
/// backward() have tensors, prepare() a problem.
struct FailedCall {
  const Program& program;
  const ForwardInputs* inputs = nullptr;
  const ForwardOutputs* outputs = nullptr;
  const BackwardInputs* backward_inputs = nullptr;
  const BackwardOutputs* gradients = nullptr;
  const Problem* problem = nullptr;
  std::optional<double> scale = {};
  std::int64_t q_base = 0;
  std::int64_t kv_base = 0;
  const BlockLists* lists = nullptr;
  bool deterministic = false;
  const TensorView* kv_lengths = nullptr;
};

inline FailedCall failed_prepare(const Program& program, const Problem& problem,
                                 const BlockLists* lists = nullptr) {
  return {.program = program,
          .problem = &problem,
          .scale = problem.scale,
          .q_base = problem.q_base,
          .kv_base = problem.kv_base,
          .lists = lists};
}

/// Version of the folder's format; docs/record.md.
inline constexpr int kRecordVersion = 3;

/// Saves a failing call as a new folder in options.record_dir: call.json with program text, shapes,
/// strides, dtypes, options and the error, and tensors.safetensors where options.record_data asks
/// for it. Never throws: a folder that cannot be written is a warning in the host's log.
void record_failure(const EngineOptions& options, const FailedCall& call,
                    const Error& error) noexcept;

/// body(); an Error that leaves it is recorded first, where the engine was asked to.
template <class Body>
auto recorded(const EngineOptions& options, const FailedCall& call, Body&& body) {
  try {
    return body();
  } catch (const Error& error) {
    if (!options.record_dir.empty()) record_failure(options, call, error);
    throw;
  }
}

}  // namespace tilewright
