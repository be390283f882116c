#include "device/gradient_fixture.h"

#include <cstring>

namespace tilewright::device_tests {

DeviceStep::DeviceStep(const Program& program, const cases::TrainingStep& step,
                       const cases::Gradients& gradients)
    : gradients_(gradients),
      forward_(program, step.operands, step.results),
      d_out_(step.d_out),
      d_query_(gradients.d_query),
      d_key_(gradients.d_key),
      d_value_(gradients.d_value) {
  if (step.d_lse) d_lse_ = std::make_unique<DeviceCopy>(*step.d_lse);
  for (const auto& [name, gradient] : gradients.captures)
    captures_.emplace(name, std::make_unique<DeviceCopy>(gradient));
}

BackwardInputs DeviceStep::inputs() const {
  const ForwardInputs operands = forward_inputs();
  const ForwardOutputs results = forward_outputs();
  BackwardInputs inputs{
      operands.query, operands.key, operands.value, results.out, *results.lse, d_out_.view(), {}};
  if (d_lse_) inputs.d_lse = d_lse_->view();
  return inputs;
}

BackwardOutputs DeviceStep::outputs() const {
  BackwardOutputs outputs{.d_query = d_query_.view(),
                          .d_key = d_key_.view(),
                          .d_value = d_value_.view(),
                          .captures = {}};
  for (const auto& [name, copy] : captures_) outputs.captures.emplace(name, copy->view());
  return outputs;
}

std::string DeviceStep::download() const {
  if (std::string outside = forward_.download(); !outside.empty()) return outside;
  bool intact = d_out_.download();
  if (d_lse_) intact &= d_lse_->download();
  for (const DeviceCopy* copy : {&d_query_, &d_key_, &d_value_}) intact &= copy->download();
  for (const auto& [name, copy] : captures_) intact &= copy->download();
  return intact ? "" : "memory outside a gradient's buffer was written";
}

void DeviceStep::poison() const {
  const auto fill = [](const cases::Tensor& tensor, const DeviceCopy& copy) {
    std::memset(tensor.bytes().data(), 0xff, tensor.bytes().size());
    copy.upload();
  };
  fill(gradients_.d_query, d_query_);
  fill(gradients_.d_key, d_key_);
  fill(gradients_.d_value, d_value_);
  for (const auto& [name, copy] : captures_) fill(gradients_.captures.at(name), *copy);
}

std::string wrong_gradients(Engine& engine, const Program& program, cases::TrainingStep& step,
                            const CallOptions& options) {
  const cases::Gradients gradients = cases::gradients_for(step, program);
  const DeviceStep call(program, step, gradients);
  engine.attention(call.program(), call.forward_inputs(), call.forward_outputs(),
                   {.scale = options.scale, .stream = options.stream});
  engine.attention_backward(call.program(), call.inputs(), call.outputs(), options);
  if (std::string outside = call.download(); !outside.empty()) return outside;
  return cases::mismatch(gradients,
                         cases::gradient_reference_of(program, step, {.scale = options.scale}),
                         step.operands.query.view().dtype);
}

}  // namespace tilewright::device_tests
