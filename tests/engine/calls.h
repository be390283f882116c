#pragma once

#include <gtest/gtest.h>

#include <string>

#include "support/forward.h"
#include "tilewright/engine.h"
#include "tilewright/error.h"

namespace tilewright::cases {

/// Options that touch neither the user's cache nor the environment's choice of backend.
inline EngineOptions cpu_options() {
  EngineOptions options;
  options.backend = "cpu";
  options.cache_dir = "none";
  return options;
}

inline Program causal() {
  return trace([](Index, Index, Index q, Index kv) { return q >= kv; });
}

/// One call on a given engine, every output asked for.
inline Results call(Engine& engine, const Program& program, const ForwardInputs& inputs) {
  Results results = results_for(inputs);
  engine.attention(program, inputs, results.outputs());
  return results;
}

inline std::string mismatch(const Results& results, const Program& program,
                            const ForwardInputs& inputs) {
  return mismatch(results, reference_of(program, inputs), inputs.query.dtype);
}

/// The Error that `body` throws. Fails where it throws none.
template <class Body>
Error error_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error(ErrorParts{});
}

}  // namespace tilewright::cases
