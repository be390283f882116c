#pragma once

#include "tilewright/engine.h"
#include "tilewright/error.h"

namespace tilewright {

/// What a call was given, as far as it can be repeated.
struct FailedCall {
  const Program& program;
  const Problem& problem;
  const ForwardInputs& inputs;
  const ForwardOutputs& outputs;
  const BlockLists* lists = nullptr;
};

/// Version of the folder's format; docs/record.md.
inline constexpr int kRecordVersion = 1;

/// Saves a failing call as a new folder in options.record_dir: call.json with program text, shapes,
/// strides, dtypes, options and the error, and tensors.safetensors where options.record_data asks
/// for it. Never throws: a folder that cannot be written is a warning in the host's log.
void record_failure(const EngineOptions& options, const FailedCall& call,
                    const Error& error) noexcept;

}  // namespace tilewright
