#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/device/context_scope.h"
#include "backends/cuda/device/gpu.h"
#include "support/forward.h"
#include "support/tensor.h"
#include "tilewright/engine.h"

namespace tilewright::device_tests {

/// The machine's GPUs, or why there are none. Asked once a process.
struct Machine {
  std::shared_ptr<const cuda::Driver> driver;
  std::string why_none;
  std::vector<std::unique_ptr<cuda::Gpu>> gpus;
};
Machine& machine();

/// Kernels are compiled anew; additions in backward have a fixed order or any.
enum class Order { kAny, kFixed };
inline EngineOptions uncached_options(Order order = Order::kAny) {
  EngineOptions options;
  options.cache_dir = "none";
  options.deterministic = order == Order::kFixed;
  return options;
}

/// Skips with its reason where there is no GPU.
class GpuTest : public ::testing::Test {
 protected:
  static bool is_hopper() { return machine().gpus.front()->facts().capability() == 90; }
  void SetUp() override {
    if (machine().gpus.empty()) GTEST_SKIP() << "no GPU: " << machine().why_none;
  }
};

/// A tensor's whole buffer on a GPU between two guard bands of poison. Copies in at construction.
class DeviceCopy {
 public:
  explicit DeviceCopy(const cases::Tensor& tensor, int ordinal = 0);
  ~DeviceCopy();
  DeviceCopy(const DeviceCopy&) = delete;
  DeviceCopy& operator=(const DeviceCopy&) = delete;

  const TensorView& view() const { return view_; }
  /// Writes the host tensor's bytes again.
  void upload() const;
  /// Reads back into the host tensor. True if both guard bands are as they were.
  [[nodiscard]] bool download() const;

 private:
  static constexpr std::size_t kGuardBytes = 4096;
  cases::Tensor tensor_;  ///< shares the host buffer
  cuda::Gpu& gpu_;
  cuda::DeviceAddress base_ = 0;
  TensorView view_;
};

/// Operands, outputs and captures of one call on a GPU.
class DeviceCall {
 public:
  DeviceCall(const Program& program, const cases::Operands& operands, const cases::Results& results,
             int ordinal = 0);

  const Program& program() const { return program_; }
  ForwardInputs inputs() const;
  ForwardOutputs outputs() const;
  const DeviceCopy& capture(std::size_t slot) const { return *captures_[slot]; }
  const DeviceCopy& query() const { return query_; }
  void synchronise() const;
  /// Reads the outputs back. What was written outside them, or nothing.
  std::string download() const;
  /// Poisons the outputs again.
  void poison() const;

 private:
  Program program_;
  const cases::Results& results_;
  cuda::Gpu& gpu_;
  DeviceCopy query_, key_, value_, out_;
  std::unique_ptr<DeviceCopy> lse_, max_scores_;
  std::vector<std::unique_ptr<DeviceCopy>> captures_;
};

/// One call from fresh, poisoned outputs; what it got wrong, or nothing.
std::string wrong(Engine& engine, const Program& program, const cases::Operands& operands,
                  const cases::ResultSpec& spec = {}, const CallOptions& options = {});

}  // namespace tilewright::device_tests
