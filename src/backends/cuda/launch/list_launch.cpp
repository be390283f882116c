#include "backends/cuda/launch/list_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "analyse/block_list_shapes.h"
#include "analyse/mask_map_state.h"
#include "backends/cuda/launch/map_launch.h"

namespace tilewright::cuda {

namespace {

constexpr unsigned kListThreads = 256;

/// KeySpan and SpanRange of attention/portable_params.cuh.
struct KeySpan {
  std::int32_t kv_begin, kv_end, full, reserved;
};
struct SpanRange {
  std::int64_t first, last;
};

params::TileLists tile_lists(const TensorView& counts, const TensorView& indices) {
  params::TileLists lists{.counts = address_of(counts), .indices = address_of(indices)};
  for (std::size_t axis = 0; axis < 3; ++axis) lists.count_strides[axis] = stride_of(counts, axis);
  for (std::size_t axis = 0; axis < 4; ++axis) lists.index_strides[axis] = stride_of(indices, axis);
  lists.columns = indices.shape[3];
  return lists;
}

/// Room for the spans of one list: runs of tiles never touch, unless they differ in kind.
std::int64_t capacity_of(const BlockLists& lists) {
  std::int64_t entries = lists.kv_indices.shape[3];
  if (lists.full_kv_indices) entries += lists.full_kv_indices->shape[3];
  return std::min(entries, (lists.kv_len + lists.kv_block - 1) / lists.kv_block);
}

void enqueue(const LaunchSite& site, FunctionHandle function, std::int64_t blocks, void* params) {
  void* arguments[] = {params};
  site.gpu.driver().check(
      site.gpu.driver().launch(function, static_cast<unsigned>(blocks), 1, 1, kListThreads, 1, 1, 0,
                               site.stream(), arguments, nullptr),
      "cuLaunchKernel", "the spans of a call");
}

params::SpanLists build_lists(const LaunchSite& site, const ListFunctions& functions) {
  const BlockLists& lists = *site.launch.lists;
  const analyse::ListShapes shapes = analyse::list_shapes(lists, site.launch.problem.device);
  const std::int64_t count = shapes.batches * shapes.heads * shapes.q_tiles;
  params::Lists params{.partial = tile_lists(lists.kv_num_blocks, lists.kv_indices), .full = {}};
  if (lists.full_kv_num_blocks)
    params.full = tile_lists(*lists.full_kv_num_blocks, *lists.full_kv_indices);
  params.ranges = site.workspace.take(span_workspace_bytes(&lists, nullptr));
  params.spans = params.ranges + static_cast<std::uint64_t>(count) * sizeof(SpanRange);
  params.capacity = capacity_of(lists);
  params.heads = static_cast<std::int32_t>(shapes.heads);
  params.q_blocks = static_cast<std::int32_t>(shapes.q_tiles);
  params.kv_blocks = static_cast<std::int32_t>(shapes.kv_tiles);
  // A block longer than the keys is as long as they are, which fits 32 bits.
  params.kv_block =
      static_cast<std::int32_t>(std::min(lists.kv_block, std::max<std::int64_t>(lists.kv_len, 1)));
  params.kv_rows = static_cast<std::int32_t>(lists.kv_len);
  enqueue(site, functions.build, count, &params);
  return {.spans = params.spans,
          .ranges = params.ranges,
          .q_blocks = params.q_blocks,
          .q_block_rows = static_cast<std::int32_t>(
              std::min(lists.q_block, std::max<std::int64_t>(lists.q_len, 1))),
          .batches = static_cast<std::int32_t>(shapes.batches),
          .heads = params.heads};
}

/// Ranges, then spans, as the kernel reads them.
std::vector<std::uint32_t> words_of(const MaskMap::State& map) {
  const std::size_t lists = map.first.size() - 1;
  std::vector<std::uint32_t> words(
      (lists * sizeof(SpanRange) + map.spans.size() * sizeof(KeySpan)) / sizeof(std::uint32_t));
  auto* to = reinterpret_cast<std::byte*>(words.data());
  for (std::size_t n = 0; n < lists; ++n, to += sizeof(SpanRange)) {
    const SpanRange range{map.first[n], map.first[n + 1]};
    std::memcpy(to, &range, sizeof range);
  }
  for (std::size_t n = 0; n < map.spans.size(); ++n, to += sizeof(KeySpan)) {
    const Span& span = map.spans[n];
    const KeySpan key_span{static_cast<std::int32_t>(span.kv_begin),
                           static_cast<std::int32_t>(span.kv_end), span.full ? 1 : 0, 0};
    std::memcpy(to, &key_span, sizeof key_span);
  }
  return words;
}

template <class Chunk>
void upload(const LaunchSite& site, FunctionHandle function, DeviceAddress to,
            const std::vector<std::uint32_t>& words) {
  Chunk chunk;
  for (std::size_t at = 0; at < words.size(); at += std::size(chunk.word)) {
    const std::size_t count = std::min(std::size(chunk.word), words.size() - at);
    chunk.to = to + at * sizeof(std::uint32_t);
    chunk.words = static_cast<std::int32_t>(count);
    std::copy_n(words.data() + at, count, chunk.word);
    enqueue(site, function, 1, &chunk);
  }
}

params::SpanLists upload_map(const LaunchSite& site, const ListFunctions& functions) {
  const MaskMap::State& map = site.launch.map->state();
  const std::vector<std::uint32_t> words = words_of(map);
  const DeviceAddress ranges = site.workspace.take(span_workspace_bytes(nullptr, site.launch.map));
  if (words.size() <= params::kSmallChunkWords)
    upload<params::SmallChunk>(site, functions.upload_small, ranges, words);
  else
    upload<params::LargeChunk>(site, functions.upload_large, ranges, words);
  const std::uint64_t range_bytes = (map.first.size() - 1) * sizeof(SpanRange);
  return {.spans = ranges + range_bytes,
          .ranges = ranges,
          .q_blocks = static_cast<std::int32_t>(map.q_blocks),
          .q_block_rows = static_cast<std::int32_t>(
              std::min(map.options.q_block, std::max<std::int64_t>(map.options.q_len, 1))),
          .batches = static_cast<std::int32_t>(map.batches),
          .heads = static_cast<std::int32_t>(map.heads)};
}

std::size_t rounded(std::size_t bytes) {
  return std::max<std::size_t>((bytes + 255) / 256, 1) * 256;
}

}  // namespace

std::string list_kernels_text(const std::string& kernel) {
  std::string text =
      "\n#include \"attention/list_spans.cuh\"\n#include \"attention/upload_words.cuh\"\n\n"
      "extern \"C\" __global__ void __launch_bounds__(256) " +
      kernel +
      "_build_spans(\n    const __grid_constant__ tilewright::cuda::ListParams params) {\n"
      "  tilewright::cuda::build_list_spans(params);\n}\n";
  for (const auto& [name, words] :
       {std::pair("small", params::kSmallChunkWords), std::pair("large", params::kLargeChunkWords)})
    text += fmt::format(
        "extern \"C\" __global__ void __launch_bounds__(256) {}_upload_{}(\n"
        "    const __grid_constant__ tilewright::cuda::WordChunk<{}> chunk) {{\n"
        "  tilewright::cuda::upload_words(chunk);\n}}\n",
        kernel, name, words);
  return text;
}

ListFunctions find_list_functions(const Driver& driver, ModuleHandle module,
                                  const std::string& kernel) {
  ListFunctions functions;
  const auto find = [&](FunctionHandle& to, const char* suffix) {
    driver.check(driver.module_function(&to, module, (kernel + suffix).c_str()),
                 "cuModuleGetFunction", kernel);
  };
  find(functions.build, "_build_spans");
  find(functions.upload_small, "_upload_small");
  find(functions.upload_large, "_upload_large");
  return functions;
}

std::size_t span_workspace_bytes(const BlockLists* lists, const MaskMap* map) {
  if (map != nullptr)
    return rounded((map->state().first.size() - 1) * sizeof(SpanRange) +
                   map->state().spans.size() * sizeof(KeySpan));
  if (lists == nullptr) return 0;
  const Dims& counts = lists->kv_num_blocks.shape;
  const auto rows = static_cast<std::size_t>(element_count(counts));
  return rounded(
      rows * (sizeof(SpanRange) + static_cast<std::size_t>(capacity_of(*lists)) * sizeof(KeySpan)));
}

params::SpanLists place_spans(const LaunchSite& site, const ListFunctions& functions) {
  if (site.launch.device_map != nullptr) return lists_of(*site.launch.device_map);
  return site.launch.map != nullptr ? upload_map(site, functions) : build_lists(site, functions);
}

}  // namespace tilewright::cuda
