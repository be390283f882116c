#include "backends/cuda/launch/map_launch.h"

#include <algorithm>

#include "analyse/device_map_layout.h"

namespace tilewright::cuda {

namespace {

constexpr unsigned kMapThreads = 128, kMapWarps = 4;

DeviceAddress base_of(const DeviceMaskMap& map) {
  return reinterpret_cast<DeviceAddress>(map.memory().data);
}

std::int64_t list_count(const DeviceMaskMap& map) {
  return map.batches() * map.heads() * map.q_blocks();
}

analyse::DeviceMapLayout layout_of(const DeviceMaskMap& map) {
  return analyse::device_map_layout(list_count(map), map.options().spans_per_block);
}

/// A block longer than the rows is as long as they are, which fits 32 bits.
std::int32_t block_rows(const DeviceMaskMap& map) {
  const DeviceMaskMapOptions& options = map.options();
  return static_cast<std::int32_t>(
      std::min(options.q_block, std::max<std::int64_t>(options.q_len, 1)));
}

}  // namespace

std::string map_kernel_name(const std::string& kernel) { return kernel + "_build_map"; }

std::string map_kernel_text(const std::string& kernel) {
  return "\n#include \"attention/mask_spans.cuh\"\n\nextern \"C\" __global__ void "
         "__launch_bounds__(128) " +
         map_kernel_name(kernel) +
         "(\n    const __grid_constant__ tilewright::cuda::MaskSpanParams params,\n"
         "    const __grid_constant__ tilewright::cuda::EmittedMods::Bindings bindings) {\n"
         "  tilewright::cuda::build_mask_spans<tilewright::cuda::EmittedMods>(params, bindings);\n"
         "}\n";
}

params::SpanLists lists_of(const DeviceMaskMap& map) {
  const analyse::DeviceMapLayout layout = layout_of(map);
  return {.spans = base_of(map) + layout.spans_at,
          .ranges = base_of(map) + layout.ranges_at,
          .q_blocks = static_cast<std::int32_t>(map.q_blocks()),
          .q_block_rows = block_rows(map),
          .batches = static_cast<std::int32_t>(map.batches()),
          .heads = static_cast<std::int32_t>(map.heads())};
}

void enqueue_map(const LaunchSite& site, const DeviceMaskMap& map, FunctionHandle function,
                 std::byte* block) {
  const params::SpanLists lists = lists_of(map);
  const Driver& driver = site.gpu.driver();
  driver.check(driver.set_words_async(base_of(map), 0, 1, site.stream()), "cuMemsetD32Async",
               "the counter of a mask map");
  params::MaskSpans params{.spans = lists.spans,
                           .ranges = lists.ranges,
                           .lists_cut = base_of(map),
                           .capacity = map.options().spans_per_block,
                           .lists = static_cast<std::int32_t>(list_count(map)),
                           .heads = lists.heads,
                           .q_blocks = lists.q_blocks,
                           .q_block_rows = lists.q_block_rows,
                           .q_rows = static_cast<std::int32_t>(map.options().q_len),
                           .kv_rows = static_cast<std::int32_t>(map.options().kv_len)};
  void* arguments[] = {&params, block};
  const unsigned blocks = (static_cast<unsigned>(params.lists) + kMapWarps - 1) / kMapWarps;
  if (blocks == 0) return;
  driver.check(driver.launch(function, blocks, 1, 1, kMapThreads, 1, 1, 0, site.stream(), arguments,
                             nullptr),
               "cuLaunchKernel", "a mask map");
}

}  // namespace tilewright::cuda
