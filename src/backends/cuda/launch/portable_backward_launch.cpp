#include "backends/cuda/launch/portable_backward_launch.h"

#include <numbers>

namespace tilewright::cuda {

namespace {

void fill_key_gradients(const BackwardSite& site, const BackwardSpace& space,
                        params::PortableBackward& params) {
  const BackwardOutputs& outputs = site.launch.outputs;
  const DType element = site.launch.problem.query_dtype;
  params.d_key_sums = space.d_key_sums.address;
  params.d_value_sums = space.d_value_sums.address;
  if (outputs.d_key) {
    params.d_key = address_of(*outputs.d_key);
    params.d_key_strides = operand_strides(*outputs.d_key);
    params.d_key_in_vectors = lies_in_vectors(*outputs.d_key, element) ? 1 : 0;
  }
  if (outputs.d_value) {
    params.d_value = address_of(*outputs.d_value);
    params.d_value_strides = operand_strides(*outputs.d_value);
    params.d_value_in_vectors = lies_in_vectors(*outputs.d_value, element) ? 1 : 0;
  }
}

}  // namespace

void fill_portable_backward(const BackwardSite& site, const BackwardCut& cut,
                            const BackwardSpace& space, params::PortableBackward& params) {
  const Problem& problem = site.launch.problem;
  const BackwardInputs& inputs = site.launch.inputs;
  const bool copies = space.d_out_copy.bytes != 0;
  params.query = address_of(inputs.query);
  params.key = address_of(inputs.key);
  params.value = address_of(inputs.value);
  params.d_out = copies ? space.d_out_copy.address : address_of(inputs.d_out);
  params.query_strides = operand_strides(inputs.query);
  params.key_strides = operand_strides(inputs.key);
  params.value_strides = operand_strides(inputs.value);
  params.d_out_strides = copies ? d_out_copy_strides(problem) : operand_strides(inputs.d_out);
  params.minus_lse = space.minus_lse.address;
  params.delta = space.delta.address;
  params.d_query_sums = space.d_query_sums.address;
  params.turns = space.turns.address;
  params.error = site.error;
  fill_key_gradients(site, space, params);
  params.schedule = backward_schedule(site, cut);
  params.extents = extents_of(problem);
  params.q_tiles = static_cast<std::int32_t>(cut.q_tiles);
  params.cut = cut.rows;
  params.lists = site.lists;
  params.lengths = site.lengths;
  params.head_dim = static_cast<std::int32_t>(problem.head_dim);
  params.value_dim = static_cast<std::int32_t>(problem.value_dim);
  params.lse_has_gradient = inputs.d_lse ? 1 : 0;
  const double scale = problem.scale_or_default();
  params.scale = static_cast<float>(scale);
  params.scale_log2 = static_cast<float>(scale * std::numbers::log2e);
}

}  // namespace tilewright::cuda
