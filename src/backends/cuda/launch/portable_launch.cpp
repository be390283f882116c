#include "backends/cuda/launch/portable_launch.h"

#include <algorithm>
#include <numbers>

#include "backends/cuda/launch/length_launch.h"
#include "backends/cuda/launch/merge_launch.h"
#include "backends/cuda/launch/sections.h"

namespace tilewright::cuda {

bool allows_copies(const TensorView& tensor, std::int64_t bytes) {
  const auto element = static_cast<std::int64_t>(size_bytes(tensor.dtype));
  if (bytes <= element) return true;
  if (reinterpret_cast<std::uintptr_t>(tensor.data) % static_cast<std::uintptr_t>(bytes) != 0)
    return false;
  if (tensor.shape[3] > 1 && tensor.strides[3] != 1) return false;
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (stride_of(tensor, axis) * element % bytes != 0) return false;
  return tensor.shape[3] * element % bytes == 0;
}

namespace {

params::TensorStrides input_strides(const TensorView& tensor) {
  return {.batch = stride_of(tensor, 0),
          .head = stride_of(tensor, 1),
          .row = stride_of(tensor, 2),
          .column = tensor.shape[3] > 1 ? tensor.strides[3] : 1};
}

params::SlotStrides output_strides(const TensorView& tensor) {
  params::SlotStrides strides{.slot = 0,
                              .batch = stride_of(tensor, 0),
                              .head = stride_of(tensor, 1),
                              .row = stride_of(tensor, 2),
                              .column = 1};
  if (tensor.rank() == 4 && tensor.shape[3] > 1) strides.column = tensor.strides[3];
  return strides;
}

bool stores_in_vectors(const TensorView& out) {
  bool lies_well = reinterpret_cast<std::uintptr_t>(out.data) % 16 == 0 && out.shape[3] % 8 == 0 &&
                   out.strides[3] == 1;
  for (std::size_t axis = 0; axis < 3; ++axis) lies_well &= stride_of(out, axis) % 8 == 0;
  return lies_well;
}

params::PortableSchedule schedule_of(const LaunchSite& site) {
  const Problem& problem = site.launch.problem;
  const std::int64_t pack = site.row.packs_group ? problem.group() : 1;
  const RowCut cut = cut_rows(site, problem.q_len * pack);
  const KeySplit split =
      site.row.splits_keys
          ? key_split(problem)
          : KeySplit{.parts = 1, .part_keys = static_cast<std::int32_t>(problem.kv_len)};
  const std::int64_t heads = problem.batch * problem.query_heads / pack * split.parts;
  const bool uneven = site.launch.program.has_mask_mod() || site.row.walks_lists;
  return {.list = 0,
          .items = static_cast<std::int32_t>(heads * cut.q_tiles),
          .q_tiles = static_cast<std::int32_t>(cut.q_tiles),
          .item_rows = static_cast<std::int32_t>(cut.item_rows),
          .section_heads = section_heads({.q_tiles = cut.q_tiles,
                                          .group_heads = problem.group() / pack,
                                          .heads = heads,
                                          .multiprocessors = site.gpu.facts().multiprocessors,
                                          .uneven = uneven}),
          .last_tile_first = uneven ? 1 : 0,
          .splits = split.parts,
          .split_keys = split.part_keys,
          .block_tiles = static_cast<std::int32_t>(cut.block_tiles)};
}

}  // namespace

std::string portable_layout_rejection(std::int64_t copy_bytes, const ForwardInputs& inputs) {
  for (const auto& [tensor, name] :
       {std::pair(&inputs.query, "query"), std::pair(&inputs.key, "key"),
        std::pair(&inputs.value, "value")}) {
    if (element_count(tensor->shape) == 0 || allows_copies(*tensor, copy_bytes)) continue;
    return std::string(name) + " lies at no multiples of " + std::to_string(copy_bytes) +
           " bytes: strides " + to_string(tensor->strides);
  }
  return {};
}

Grid fill_portable(const LaunchSite& site, params::Portable& params) {
  const Problem& problem = site.launch.problem;
  const ForwardInputs& inputs = site.launch.inputs;
  const ForwardOutputs& outputs = site.launch.outputs;
  params.query = address_of(inputs.query);
  params.key = address_of(inputs.key);
  params.value = address_of(inputs.value);
  params.out = address_of(outputs.out);
  params.lse = outputs.lse ? address_of(*outputs.lse) : 0;
  params.max_scores = outputs.max_scores ? address_of(*outputs.max_scores) : 0;
  params.error = site.error;
  params.query_strides = input_strides(inputs.query);
  params.key_strides = input_strides(inputs.key);
  params.value_strides = input_strides(inputs.value);
  params.out_strides = output_strides(outputs.out);
  if (const TensorView* rows = statistic_of(outputs)) params.lse_strides = output_strides(*rows);
  params.lists = site.lists;
  params.lengths = key_lengths(site);
  params.schedule = schedule_of(site);
  params.extents = {.batches = static_cast<std::int32_t>(problem.batch),
                    .query_heads = static_cast<std::int32_t>(problem.query_heads),
                    .group_heads = static_cast<std::int32_t>(problem.group()),
                    .kv_batches = static_cast<std::int32_t>(problem.kv_batch),
                    .query_rows = static_cast<std::int32_t>(problem.q_len),
                    .kv_rows = static_cast<std::int32_t>(problem.kv_len)};
  params.head_dim = static_cast<std::int32_t>(problem.head_dim);
  params.value_dim = static_cast<std::int32_t>(problem.value_dim);
  params.out_in_vectors = stores_in_vectors(outputs.out) ? 1 : 0;
  const double scale = problem.scale_or_default();
  params.scale = static_cast<float>(scale);
  params.scale_log2 = static_cast<float>(scale * std::numbers::log2e);
  const std::int64_t columns = (problem.value_dim + site.row.value_tile - 1) / site.row.value_tile;
  return {.x = static_cast<unsigned>(params.schedule.items),
          .y = static_cast<unsigned>(std::max<std::int64_t>(columns, 1))};
}

}  // namespace tilewright::cuda
