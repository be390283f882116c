#include "backward_check.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ir/program.h"
#include "tilewright/engine.h"
#include "tilewright/error.h"

namespace tilewright {

namespace {

[[noreturn]] void raise_bad_gradient(std::string what, std::string where, std::string expected,
                                     std::string got, std::string hint = {}) {
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = std::move(what),
               .where = std::move(where),
               .expected = std::move(expected),
               .got = std::move(got),
               .hint = std::move(hint)});
}

void check_shape(const TensorView& tensor, const std::string& where, const Dims& expected) {
  if (!(tensor.shape == expected))
    raise_bad_gradient("a tensor of backward has the wrong shape", where, to_string(expected),
                       to_string(tensor.shape));
  if (tensor.strides.size() != tensor.rank())
    raise_bad_gradient("a tensor of backward needs a stride for every axis", where,
                       std::to_string(tensor.rank()), std::to_string(tensor.strides.size()));
}

/// What is common to every tensor beside query, key and value.
void check_tensor(const TensorView& tensor, const std::string& where, const Dims& expected,
                  const Problem& problem) {
  check_shape(tensor, where, expected);
  if (!is_floating(tensor.dtype))
    raise_bad_gradient("a tensor of backward must be floating", where, "f64, f32, f16 or bf16",
                       std::string(name(tensor.dtype)));
  if (tensor.data == nullptr && element_count(tensor.shape) != 0)
    raise_bad_gradient("a tensor of backward has no memory", where, "a pointer to its elements",
                       "null", where == "lse" ? "ask forward for lse: backward reads it" : "");
  if (!(tensor.device == problem.device))
    raise_bad_gradient("two tensors lie on different devices", where, to_string(problem.device),
                       to_string(tensor.device),
                       "move '" + where + "' to " + to_string(problem.device));
}

/// A gradient is written once per element: expanded memory cannot hold it.
void check_gradient(const TensorView& tensor, const std::string& where, const Dims& expected,
                    const Problem& problem) {
  check_tensor(tensor, where, expected, problem);
  for (std::size_t axis = 0; axis < tensor.rank(); ++axis)
    if (tensor.shape[axis] > 1 && tensor.strides[axis] == 0)
      raise_bad_gradient("a gradient cannot be written to an expanded tensor", where,
                         "a stride other than 0 on axis " + std::to_string(axis),
                         to_string(tensor.strides),
                         "sum the gradient of an expanded tensor after the call");
}

Dims row_shape(const Problem& problem) {
  return {problem.batch, problem.query_heads, problem.q_len};
}

void check_results(const BackwardInputs& inputs, const Problem& problem) {
  const Dims out{problem.batch, problem.query_heads, problem.q_len, problem.value_dim};
  check_tensor(inputs.out, "out", out, problem);
  check_tensor(inputs.d_out, "d_out", out, problem);
  check_tensor(inputs.lse, "lse", row_shape(problem), problem);
  const DType lse = problem.query_dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  if (inputs.lse.dtype != lse)
    raise_bad_gradient("lse has another dtype than forward writes", "lse", std::string(name(lse)),
                       std::string(name(inputs.lse.dtype)));
  if (inputs.d_lse) check_tensor(*inputs.d_lse, "d_lse", row_shape(problem), problem);
}

std::size_t slot_of(const Program& program, const std::string& capture) {
  const auto slots = program.structure().captures();
  std::string known;
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    if (slots[slot].name == capture) return slot;
    known += (known.empty() ? "" : ", ") + slots[slot].name;
  }
  raise_bad_gradient("the program captures no tensor of this name", "gradient of '" + capture + "'",
                     known.empty() ? "no captured gradients" : "one of " + known, capture);
}

void require_floating(const Program& program, std::size_t slot) {
  const ir::CaptureSlot& capture = program.structure().captures()[slot];
  if (is_floating(capture.dtype)) return;
  raise_bad_gradient("a captured tensor of integers has no gradient",
                     "gradient of '" + capture.name + "'", "a floating tensor",
                     std::string(name(capture.dtype)),
                     "leave it out of the gradients that are asked for");
}

void want(const Program& program, const std::string& capture, ir::DerivativeRequest& request) {
  const std::size_t slot = slot_of(program, capture);
  require_floating(program, slot);
  request.captures[slot] = true;
}

ir::DerivativeRequest none_of(const Program& program) {
  return {.d_score = false,
          .captures = std::vector<bool>(program.structure().captures().size(), false)};
}

}  // namespace

Problem problem_from(const BackwardInputs& inputs, const BackwardOutputs& outputs) {
  Problem problem =
      problem_from(ForwardInputs{.query = inputs.query, .key = inputs.key, .value = inputs.value},
                   ForwardOutputs{.out = inputs.out, .lse = inputs.lse, .max_scores = {}});
  check_results(inputs, problem);
  if (outputs.d_query) check_gradient(*outputs.d_query, "d_query", inputs.query.shape, problem);
  if (outputs.d_key) check_gradient(*outputs.d_key, "d_key", inputs.key.shape, problem);
  if (outputs.d_value) check_gradient(*outputs.d_value, "d_value", inputs.value.shape, problem);
  return problem;
}

ir::DerivativeRequest derivatives_for(const Program& program, const BackwardOutputs& outputs) {
  ir::DerivativeRequest request = none_of(program);
  request.d_score = outputs.d_query.has_value() || outputs.d_key.has_value();
  for (const auto& [capture, gradient] : outputs.captures) want(program, capture, request);
  return request;
}

ir::DerivativeRequest derivatives_for(const Program& program, const GradientSet& gradients) {
  ir::DerivativeRequest request = none_of(program);
  request.d_score = gradients.query || gradients.key;
  for (const std::string& capture : gradients.captures) want(program, capture, request);
  return request;
}

void check_capture_gradients(const Program& program, const BackwardOutputs& outputs) {
  for (const auto& [capture, gradient] : outputs.captures) {
    const TensorView& tensor = program.bindings().captures[slot_of(program, capture)];
    const std::string where = "gradient of '" + capture + "'";
    Problem on_device;
    on_device.device = tensor.device;
    check_gradient(gradient, where, tensor.shape, on_device);
    if (gradient.dtype != tensor.dtype)
      raise_bad_gradient("a captured gradient has another dtype than its tensor", where,
                         std::string(name(tensor.dtype)), std::string(name(gradient.dtype)));
  }
}

}  // namespace tilewright
