#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "c_abi_guard.h"
#include "tilewright/c.h"
#include "tilewright/engine.h"
#include "tilewright/mask_map.h"
#include "tilewright/tensor.h"

namespace tilewright::c_abi {

/// Reads the part of a growing structure that the caller was compiled with; the rest stays zero.
/// Throws Error{kInvalidArgument} for a struct_bytes that no version of it had.
template <class T>
T sized_copy(const T* given, const char* argument) {
  const std::size_t bytes = required(given, argument).struct_bytes;
  T copy{};
  if (bytes < sizeof(copy.struct_bytes) || bytes > 4 * sizeof(T)) {
    throw Error({.code = ErrorCode::kInvalidArgument,
                 .what = std::string(argument) + "->struct_bytes is not set",
                 .where = argument,
                 .expected = "sizeof of the structure, " + std::to_string(sizeof(T)),
                 .got = std::to_string(bytes),
                 .hint = {}});
  }
  std::memcpy(&copy, given, std::min(bytes, sizeof(T)));
  return copy;
}

/// Writes the part of a growing structure that the caller knows.
template <class T>
void sized_write(T source, T* target, const char* argument) {
  source.struct_bytes = sized_copy(target, argument).struct_bytes;
  std::memcpy(target, &source, std::min(source.struct_bytes, sizeof(T)));
}

// From the C structures to the C++ ones. All throw Error{kInvalidArgument}.
TensorView view_of(const tw_tensor& tensor, const char* argument);
ForwardInputs inputs_of(const tw_inputs& inputs);
ForwardOutputs outputs_of(const tw_outputs& outputs);
BackwardInputs inputs_of(const tw_backward_inputs& inputs);
BackwardOutputs outputs_of(const tw_backward_outputs& outputs);
EngineOptions options_of(const tw_engine_options& options);
Problem problem_of(const tw_problem& problem);
MaskMapOptions options_of(const tw_mask_map_options& options);
DeviceMaskMapOptions options_of(const tw_device_mask_map_options& options);

/// Per-call extras with what they point to.
class CallExtras {
 public:
  explicit CallExtras(const tw_call_options* options);
  CallExtras(const CallExtras&) = delete;
  CallExtras& operator=(const CallExtras&) = delete;
  operator const CallOptions&() const noexcept { return options_; }

 private:
  CallOptions options_;
  TensorView kv_lengths_;
};

}  // namespace tilewright::c_abi
