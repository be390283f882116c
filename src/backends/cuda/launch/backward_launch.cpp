#include "backends/cuda/launch/backward_launch.h"

#include <algorithm>
#include <numbers>

#include "backends/cuda/launch/sections.h"
#include "backends/cuda/launch/tensor_map.h"

namespace tilewright::cuda {

params::TensorStrides operand_strides(const TensorView& tensor) noexcept {
  return {.batch = stride_of(tensor, 0),
          .head = stride_of(tensor, 1),
          .row = stride_of(tensor, 2),
          .column = tensor.rank() == 4 ? stride_of(tensor, 3) : 0};
}

namespace {

params::FloatKind kind_of(const TensorView& tensor) noexcept {
  return static_cast<params::FloatKind>(tensor.dtype);
}

params::GradientStrides gradient_strides(const TensorView& tensor) noexcept {
  return {.batch = stride_of(tensor, 0), .head = stride_of(tensor, 1), .row = stride_of(tensor, 2)};
}

void encode(const BackwardSite& site, const BackwardSpace& space, params::HopperBackward& params) {
  const Driver& driver = site.gpu.driver();
  const BackwardInputs& inputs = site.launch.inputs;
  const auto query_rows = static_cast<std::uint32_t>(site.row.query_tile);
  const auto key_rows = static_cast<std::uint32_t>(site.row.key_tile);
  // Without queries no tile of them is ever copied; the maps only have to be lawful.
  const bool has_queries = element_count(inputs.query.shape) != 0;
  TensorView copy = contiguous(reinterpret_cast<void*>(space.d_out_copy.address),
                               site.launch.problem.query_dtype, inputs.d_out.shape);
  const TensorView& d_out = space.d_out_copy.bytes != 0 ? copy : inputs.d_out;
  encode_tensor_map(driver, has_queries ? inputs.query : inputs.key, query_rows, "query",
                    params.query);
  encode_tensor_map(driver, inputs.key, key_rows, "key", params.key);
  encode_tensor_map(driver, inputs.value, key_rows, "value", params.value);
  encode_tensor_map(driver, has_queries ? d_out : inputs.value, query_rows, "d_out", params.d_out);
}

}  // namespace

std::string backward_layout_rejection(const BackwardInputs& inputs) {
  for (const auto& [tensor, name] :
       {std::pair(&inputs.query, "query"), std::pair(&inputs.key, "key"),
        std::pair(&inputs.value, "value")}) {
    if (element_count(tensor->shape) == 0) continue;
    if (std::string reason = tensor_map_rejection(*tensor, name); !reason.empty()) return reason;
  }
  return {};
}

params::BackwardPrepare prepare_params(const BackwardSite& site, const BackwardCut& cut,
                                       const BackwardSpace& space) {
  const Problem& problem = site.launch.problem;
  const BackwardInputs& inputs = site.launch.inputs;
  params::BackwardPrepare params;
  params.out = address_of(inputs.out);
  params.d_out = address_of(inputs.d_out);
  params.lse = address_of(inputs.lse);
  params.minus_lse = space.minus_lse.address;
  params.delta = space.delta.address;
  params.d_out_copy = space.d_out_copy.address;
  params.d_query_sums = space.d_query_sums.address;
  params.turns = space.turns.address;
  params.out_strides = operand_strides(inputs.out);
  params.d_out_strides = operand_strides(inputs.d_out);
  params.lse_strides = operand_strides(inputs.lse);
  params.query_heads = static_cast<std::int32_t>(problem.query_heads);
  params.q_rows = static_cast<std::int32_t>(problem.q_len);
  params.q_tiles = static_cast<std::int32_t>(cut.q_tiles);
  params.sum_floats = static_cast<std::int32_t>(site.row.query_sum_floats(problem.head_dim));
  params.out_kind = kind_of(inputs.out);
  params.d_out_kind = kind_of(inputs.d_out);
  params.out_in_vectors = lies_in_vectors(inputs.out, problem.query_dtype) ? 1 : 0;
  params.d_out_in_vectors = lies_in_vectors(inputs.d_out, problem.query_dtype) ? 1 : 0;
  params.value_dim = static_cast<std::int32_t>(problem.value_dim);
  params.cut = cut.rows;
  if (!inputs.d_lse) return params;
  params.d_lse = address_of(*inputs.d_lse);
  params.d_lse_strides = operand_strides(*inputs.d_lse);
  params.d_lse_kind = kind_of(*inputs.d_lse);
  return params;
}

bool is_uneven(const BackwardSite& site) {
  return site.row.walks_lists || site.launch.kv_lengths != nullptr ||
         site.launch.program.has_mask_mod();
}

SectionQuestion section_question(const BackwardSite& site, const BackwardCut& cut) {
  SectionQuestion question{.q_tiles = cut.kv_tiles * cut.parts,
                           .group_heads = 1,
                           .heads = key_heads_of(site.launch.problem),
                           .multiprocessors = site.gpu.facts().multiprocessors,
                           .uneven = is_uneven(site)};
  if (site.ordered && !question.uneven) {
    // Key tiles of one head that run at the same time trail one another: more heads at once, fewer
    // tiles of each.
    question.uneven = true;
    question.tiles_a_wave = 16;
    question.most_waves = 4;
  }
  return question;
}

params::BackwardSchedule backward_schedule(const BackwardSite& site, const BackwardCut& cut) {
  return {.list = 0,
          .counters = site.counters,
          .items = static_cast<std::int32_t>(cut.items),
          .kv_tiles = static_cast<std::int32_t>(cut.kv_tiles),
          .section_heads = section_heads(section_question(site, cut)),
          .parts = static_cast<std::int32_t>(cut.parts)};
}

void fill_backward(const BackwardSite& site, const BackwardCut& cut, const BackwardSpace& space,
                   params::HopperBackward& params) {
  const Problem& problem = site.launch.problem;
  const BackwardOutputs& outputs = site.launch.outputs;
  encode(site, space, params);
  params.minus_lse = space.minus_lse.address;
  params.delta = space.delta.address;
  params.d_query_sums = space.d_query_sums.address;
  params.turns = space.turns.address;
  params.d_key_sums = space.d_key_sums.address;
  params.d_value_sums = space.d_value_sums.address;
  params.error = site.error;
  if (outputs.d_key) {
    params.d_key = address_of(*outputs.d_key);
    params.d_key_strides = gradient_strides(*outputs.d_key);
  }
  if (outputs.d_value) {
    params.d_value = address_of(*outputs.d_value);
    params.d_value_strides = gradient_strides(*outputs.d_value);
  }
  params.schedule = backward_schedule(site, cut);
  params.extents = extents_of(problem);
  params.q_tiles = static_cast<std::int32_t>(cut.q_tiles);
  const double scale = problem.scale_or_default();
  params.scale = static_cast<float>(scale);
  params.scale_log2 = static_cast<float>(scale * std::numbers::log2e);
}

void extend_backward(const BackwardSite& site, const BackwardCut& cut, const BackwardSpace& space,
                     params::ExtendedHopperBackward& params) {
  params.lists = site.lists;
  params.lengths = site.lengths;
  params.keys = space.key_maps.address;
  params.cut = cut.rows;
}

namespace {

Finish finish_of(const TensorView& gradient, DeviceAddress sums, const Problem& problem) {
  Finish finish;
  finish.params.sums = sums;
  finish.params.gradient = address_of(gradient);
  finish.params.batch_stride = stride_of(gradient, 0);
  finish.params.head_stride = stride_of(gradient, 1);
  finish.params.row_stride = stride_of(gradient, 2);
  finish.params.column_stride = stride_of(gradient, 3);
  finish.params.heads = static_cast<std::int32_t>(gradient.shape[1]);
  finish.params.rows = static_cast<std::int32_t>(gradient.shape[2]);
  finish.params.kind = kind_of(gradient);
  finish.params.in_vectors = lies_in_vectors(gradient, problem.query_dtype) ? 1 : 0;
  finish.params.dim = static_cast<std::int32_t>(gradient.shape[3]);
  return finish;
}

Finish finish_parts(const TensorView& gradient, const BackwardSpace::Part& sums,
                    const BackwardSite& site, const BackwardCut& cut) {
  const Problem& problem = site.launch.problem;
  Finish finish = finish_of(gradient, sums.address, problem);
  finish.blocks = key_heads_of(problem) * cut.kv_tiles;
  finish.params.tiles = static_cast<std::int32_t>(cut.kv_tiles);
  finish.params.parts = static_cast<std::int32_t>(cut.parts);
  finish.params.cut = query_cut(site.row.key_tile, 0);
  finish.params.part_floats = finish.blocks * site.row.key_sum_floats(gradient.shape[3]);
  return finish;
}

}  // namespace

Finish finish_query(const BackwardSite& site, const BackwardCut& cut, const BackwardSpace& space) {
  const Problem& problem = site.launch.problem;
  if (!site.launch.outputs.d_query) return {};
  Finish finish = finish_of(*site.launch.outputs.d_query, space.d_query_sums.address, problem);
  finish.blocks = streams_of(problem) * cut.q_tiles;
  finish.params.tiles = static_cast<std::int32_t>(cut.q_tiles);
  finish.params.factor = static_cast<float>(problem.scale_or_default());
  finish.params.cut = cut.rows;
  return finish;
}

Finish finish_key(const BackwardSite& site, const BackwardCut& cut, const BackwardSpace& space) {
  if (space.d_key_sums.bytes == 0) return {};
  Finish finish = finish_parts(*site.launch.outputs.d_key, space.d_key_sums, site, cut);
  finish.params.factor = static_cast<float>(site.launch.problem.scale_or_default());
  return finish;
}

Finish finish_value(const BackwardSite& site, const BackwardCut& cut, const BackwardSpace& space) {
  if (space.d_value_sums.bytes == 0) return {};
  return finish_parts(*site.launch.outputs.d_value, space.d_value_sums, site, cut);
}

}  // namespace tilewright::cuda
