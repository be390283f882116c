#pragma once

#include <map>
#include <memory>
#include <string>

#include "device/gpu_fixture.h"
#include "support/backward.h"

namespace tilewright::device_tests {

/// Tensors, captures and gradients of one training step on a GPU. Gradients that `outputs` lacks
/// are not there.
class DeviceStep {
 public:
  DeviceStep(const Program& program, const cases::TrainingStep& step,
             const cases::Gradients& gradients);

  const Program& program() const { return forward_.program(); }
  ForwardInputs forward_inputs() const { return forward_.inputs(); }
  ForwardOutputs forward_outputs() const { return forward_.outputs(); }
  BackwardInputs inputs() const;
  BackwardOutputs outputs() const;
  void synchronise() const { forward_.synchronise(); }
  /// Reads out, lse and the gradients back. What was written outside them, or nothing.
  std::string download() const;
  /// Poisons the gradients again.
  void poison() const;

 private:
  const cases::Gradients& gradients_;
  DeviceCall forward_;
  DeviceCopy d_out_, d_query_, d_key_, d_value_;
  std::unique_ptr<DeviceCopy> d_lse_;
  std::map<std::string, std::unique_ptr<DeviceCopy>> captures_;
};

/// Forward and backward on the GPU from poisoned results; what is wrong, or nothing.
std::string wrong_gradients(Engine& engine, const Program& program, cases::TrainingStep& step,
                            const CallOptions& options = {});

}  // namespace tilewright::device_tests
