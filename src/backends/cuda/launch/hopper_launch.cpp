#include "backends/cuda/launch/hopper_launch.h"

#include <algorithm>
#include <numbers>

#include "backends/cuda/launch/sections.h"
#include "backends/cuda/launch/tensor_map.h"

namespace tilewright::cuda {

namespace {

constexpr std::uint32_t kQueryBoxRows = 64;

std::string store_rejection(const TensorView& out) {
  if (reinterpret_cast<std::uintptr_t>(out.data) % 16 != 0)
    return "out begins at an address that is no multiple of 16 bytes";
  if (out.shape[3] > 1 && out.strides[3] != 1)
    return "out has column stride " + std::to_string(out.strides[3]) + ", not 1";
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (stride_of(out, axis) % 8 != 0)
      return "out has stride " + std::to_string(out.strides[axis]) + ", no multiple of 8 elements";
  return {};
}

params::OutputStrides strides_of(const TensorView& tensor) {
  return {.slot = 0,
          .batch = stride_of(tensor, 0),
          .head = stride_of(tensor, 1),
          .row = stride_of(tensor, 2)};
}

void encode_inputs(const LaunchSite& site, params::Hopper& params) {
  const Driver& driver = site.gpu.driver();
  const ForwardInputs& inputs = site.launch.inputs;
  encode_tensor_map(driver, inputs.query, kQueryBoxRows, "query", params.query);
  // Without keys no tile is ever copied; the maps only have to be lawful.
  const bool has_keys = element_count(inputs.key.shape) != 0;
  const auto kv_rows = static_cast<std::uint32_t>(site.row.kv_rows);
  encode_tensor_map(driver, has_keys ? inputs.key : inputs.query, kv_rows, "key", params.key);
  encode_tensor_map(driver, has_keys ? inputs.value : inputs.query, kv_rows, "value", params.value);
}

}  // namespace

std::string hopper_layout_rejection(const ForwardInputs& inputs, const ForwardOutputs& outputs) {
  for (const auto& [tensor, name] :
       {std::pair(&inputs.query, "query"), std::pair(&inputs.key, "key"),
        std::pair(&inputs.value, "value")}) {
    if (element_count(tensor->shape) == 0) continue;
    if (std::string reason = tensor_map_rejection(*tensor, name); !reason.empty()) return reason;
  }
  return store_rejection(outputs.out);
}

DeviceAddress counters_for(const LaunchSite& site) {
  const Driver& driver = site.gpu.driver();
  int capturing = 0;
  driver.check(driver.stream_is_capturing(site.stream(), &capturing), "cuStreamIsCapturing",
               "the call's stream");
  if (capturing == 0) return site.gpu.counters().for_eager_launch();
  if (const DeviceAddress kept = site.gpu.counters().for_captured_launch(); kept != 0) return kept;
  const DeviceAddress fresh = site.workspace.take(ScheduleCounters::kPairBytes);
  driver.check(driver.set_words_async(fresh, 0, 2, site.stream()), "cuMemsetD32Async",
               "counters of a captured launch");
  return fresh;
}

params::ItemLists item_lists(const LaunchSite& site) {
  const RowCut cut = cut_rows(site, site.launch.problem.q_len);
  return {.spans = site.lists,
          .query_rows = static_cast<std::int32_t>(site.launch.problem.q_len),
          .item_rows = static_cast<std::int32_t>(cut.item_rows),
          .block_tiles = static_cast<std::int32_t>(cut.block_tiles)};
}

Grid fill_hopper(const LaunchSite& site, params::Hopper& params) {
  const Problem& problem = site.launch.problem;
  const ForwardOutputs& outputs = site.launch.outputs;
  const bool masked = site.launch.program.has_mask_mod() || site.row.walks_lists;
  const std::int64_t q_tiles = cut_rows(site, problem.q_len).q_tiles;
  const std::int64_t items = problem.batch * problem.query_heads * q_tiles;
  encode_inputs(site, params);
  params.out = address_of(outputs.out);
  params.lse = outputs.lse ? address_of(*outputs.lse) : 0;
  params.max_scores = outputs.max_scores ? address_of(*outputs.max_scores) : 0;
  params.error = site.error;
  params.out_strides = strides_of(outputs.out);
  if (const TensorView* rows = statistic_of(outputs)) params.lse_strides = strides_of(*rows);
  params.schedule = {
      .list = 0,
      .counters = counters_for(site),
      .items = static_cast<std::int32_t>(items),
      .q_tiles = static_cast<std::int32_t>(q_tiles),
      .section_heads = section_heads({.q_tiles = q_tiles,
                                      .group_heads = problem.group(),
                                      .heads = problem.batch * problem.query_heads,
                                      .multiprocessors = site.gpu.facts().multiprocessors,
                                      .uneven = masked,
                                      .tiles_a_wave = 4,
                                      .fewest_waves = 4,
                                      .most_waves = 16}),
      .last_tile_first = masked ? 1 : 0};
  params.extents = {.batches = static_cast<std::int32_t>(problem.batch),
                    .query_heads = static_cast<std::int32_t>(problem.query_heads),
                    .group_heads = static_cast<std::int32_t>(problem.group()),
                    .kv_batches = static_cast<std::int32_t>(problem.kv_batch),
                    .query_rows = static_cast<std::int32_t>(problem.q_len),
                    .kv_rows = static_cast<std::int32_t>(problem.kv_len)};
  const double scale = problem.scale_or_default();
  params.scale = static_cast<float>(scale);
  params.scale_log2 = static_cast<float>(scale * std::numbers::log2e);
  return {
      .x = static_cast<unsigned>(std::min<std::int64_t>(items, site.gpu.facts().multiprocessors))};
}

}  // namespace tilewright::cuda
