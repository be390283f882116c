#pragma once

#include <gtest/gtest.h>

#include "ir/interpret.h"
#include "tilewright/error.h"
#include "tilewright/program.h"

/// What a traced program gives for one pair, by the interpreter.
namespace tilewright {

inline double score(const Program& program, double s, const ir::Position& at) {
  return ir::Interpreter(program.structure(), program.bindings()).score(s, at);
}
inline bool mask(const Program& program, const ir::Position& at) {
  return ir::Interpreter(program.structure(), program.bindings()).mask(at);
}
inline ir::Position pair(std::int64_t q, std::int64_t kv) {
  return {.b = 0, .h = 0, .q = q, .kv = kv};
}

template <class F>
ErrorParts error_of(F&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.parts();
  }
  ADD_FAILURE() << "no error";
  return {};
}

}  // namespace tilewright
