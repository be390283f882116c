#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "backends/cuda/launch/forward_params.h"
#include "backends_cuda/fakes.h"
#include "engine/calls.h"

namespace tilewright::cuda {

inline constexpr Device kDevice0{DeviceKind::kCuda, 0};

inline TensorView on_device(const cases::Tensor& tensor, Device device = kDevice0) {
  TensorView view = tensor.view();
  view.device = device;
  return view;
}

/// Operands and outputs of one call on a fake device.
struct Call {
  explicit Call(const cases::Extents& extents, DType dtype = DType::kBF16, Device device = kDevice0)
      : query(dtype, extents.query_shape()),
        key(dtype, extents.key_shape()),
        value(dtype, extents.value_shape()),
        out(dtype, extents.out_shape()),
        lse(DType::kF32, extents.row_shape()),
        inputs{on_device(query, device), on_device(key, device), on_device(value, device)},
        outputs{.out = on_device(out, device), .lse = on_device(lse, device), .max_scores = {}} {}
  cases::Tensor query, key, value, out, lse;
  ForwardInputs inputs;
  ForwardOutputs outputs;
};

class FakeLaunch : public ::testing::Test {
 protected:
  FakeLaunch() : driver_(fakes::driver_state()) {
    driver_.params_bytes = sizeof(params::Hopper);
    driver_.block_bytes = 56;
    options_.cache_dir = "none";
    options_.cuda_driver = fakes::driver_library();
    options_.nvrtc = fakes::install_nvrtc(13, scratch_.path());
  }

  template <class Params = params::Hopper>
  Params params_of(std::size_t index) const {
    Params params;
    std::memcpy(&params, driver_.launches.at(index).params.data(), sizeof params);
    return params;
  }

  testing::ScratchFolder scratch_;
  fake::FakeDriver& driver_;
  EngineOptions options_;
};

}  // namespace tilewright::cuda
