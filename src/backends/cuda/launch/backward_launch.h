#pragma once

#include "backends/cuda/launch/backward_params.h"
#include "backends/cuda/launch/backward_space.h"

namespace tilewright::cuda {

/// Why the Hopper backward kernels cannot read query, key and value where they lie; empty where
/// they can. Every other tensor may lie anyhow.
std::string backward_layout_rejection(const BackwardInputs& inputs);

/// Strides of a [B, H, rows, columns] or [B, H, rows] tensor, 0 along what is never stepped.
params::TensorStrides operand_strides(const TensorView& tensor) noexcept;
/// Whether items differ in length, since a mask, lists or lengths skip tiles.
bool is_uneven(const BackwardSite& site);
params::BackwardSchedule backward_schedule(const BackwardSite& site, const BackwardCut& cut);

params::BackwardPrepare prepare_params(const BackwardSite& site, const BackwardCut& cut,
                                       const BackwardSpace& space);
/// Fills the parameters of the Hopper family, tensor maps included.
void fill_backward(const BackwardSite& site, const BackwardCut& cut, const BackwardSpace& space,
                   params::HopperBackward& params);

/// Fills what a row needs beside that which walks lists or reads lengths.
void extend_backward(const BackwardSite& site, const BackwardCut& cut, const BackwardSpace& space,
                     params::ExtendedHopperBackward& params);

/// The end of one gradient, and the blocks that make it.
struct Finish {
  params::GradientFinish params;
  std::int64_t blocks = 0;  ///< 0: nothing to do
};
Finish finish_query(const BackwardSite& site, const BackwardCut& cut, const BackwardSpace& space);
Finish finish_key(const BackwardSite& site, const BackwardCut& cut, const BackwardSpace& space);
Finish finish_value(const BackwardSite& site, const BackwardCut& cut, const BackwardSpace& space);

}  // namespace tilewright::cuda
