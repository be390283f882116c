#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "backends/cuda/launch/backward_params.h"
#include "backends_cuda/fakes.h"
#include "engine/calls.h"

// A backward call before a driver that is none. Tensors on "cuda" lie in host memory, which nothing
// reads.
namespace tilewright::cuda {
inline constexpr Device kDevice0{DeviceKind::kCuda, 0};
inline constexpr std::size_t kHeadBytes = 56;  // a parameter block without captures and numbers

inline TensorView on_device(const cases::Tensor& tensor) {
  TensorView view = tensor.view();
  view.device = kDevice0;
  return view;
}

/// The tensors of a training step.
struct TrainingCall {
  explicit TrainingCall(const cases::Extents& extents, DType gradient = DType::kBF16)
      : query(DType::kBF16, extents.query_shape()),
        key(DType::kBF16, extents.key_shape()),
        value(DType::kBF16, extents.value_shape()),
        out(DType::kBF16, extents.out_shape()),
        lse(DType::kF32, extents.row_shape()),
        d_out(DType::kBF16, extents.out_shape()),
        d_query(gradient, extents.query_shape()),
        d_key(gradient, extents.key_shape()),
        d_value(gradient, extents.value_shape()),
        inputs{on_device(query),
               on_device(key),
               on_device(value),
               on_device(out),
               on_device(lse),
               on_device(d_out),
               {}},
        outputs{on_device(d_query), on_device(d_key), on_device(d_value), {}} {}
  cases::Tensor query, key, value, out, lse, d_out, d_query, d_key, d_value;
  BackwardInputs inputs;
  BackwardOutputs outputs;
};

class FakeBackward : public ::testing::Test {
 protected:
  FakeBackward() : driver_(fakes::driver_state()) {
    driver_.params_bytes = sizeof(params::HopperBackward);
    driver_.block_bytes = kHeadBytes;
    driver_.single_parameter = {{"_prepare", sizeof(params::BackwardPrepare)},
                                {"_finish_query", sizeof(params::GradientFinish)},
                                {"_finish_key", sizeof(params::GradientFinish)},
                                {"_finish_value", sizeof(params::GradientFinish)}};
    options_.cache_dir = "none";
    options_.cuda_driver = fakes::driver_library();
    options_.nvrtc = fakes::install_nvrtc(13, scratch_.path());
  }

  template <class Params>
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
