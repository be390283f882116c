#pragma once

#include <string>

#include "backends/cuda/launch/forward_params.h"
#include "backends/cuda/launch/launch_site.h"

namespace tilewright::cuda {

namespace params {

/// TileLists and ListParams of attention/list_spans.cuh.
struct TileLists {
  DeviceAddress counts = 0;
  DeviceAddress indices = 0;
  std::int64_t count_strides[3] = {};
  std::int64_t index_strides[4] = {};
  std::int64_t columns = 0;
};

struct Lists {
  TileLists partial;
  TileLists full;
  DeviceAddress spans = 0;
  DeviceAddress ranges = 0;
  std::int64_t capacity = 0;
  std::int32_t heads = 0;
  std::int32_t q_blocks = 0;
  std::int32_t kv_blocks = 0;
  std::int32_t kv_block = 0;
  std::int32_t kv_rows = 0;
  std::int32_t reserved = 0;
};

/// WordChunk of attention/upload_words.cuh.
template <int kWords>
struct WordChunk {
  DeviceAddress to = 0;
  std::int32_t words = 0;
  std::int32_t reserved = 0;
  std::uint32_t word[kWords];
};
inline constexpr int kSmallChunkWords = 1000;
inline constexpr int kLargeChunkWords = 7800;
using SmallChunk = WordChunk<kSmallChunkWords>;
using LargeChunk = WordChunk<kLargeChunkWords>;

}  // namespace params

/// The text that the source of a row that walks lists ends with: what makes spans of block lists,
/// and what brings a mask map's.
std::string list_kernels_text(const std::string& kernel);

struct ListFunctions {
  FunctionHandle build = nullptr;
  FunctionHandle upload_small = nullptr;
  FunctionHandle upload_large = nullptr;
};
/// Throws Error{kDevice} where the module has no such kernels.
ListFunctions find_list_functions(const Driver& driver, ModuleHandle module,
                                  const std::string& kernel);

/// Bytes of workspace for a call's spans.
std::size_t span_workspace_bytes(const BlockLists* lists, const MaskMap* map);

/// Enqueues what puts the spans of the call's lists or map into workspace, and says where they lie.
params::SpanLists place_spans(const LaunchSite& site, const ListFunctions& functions);

}  // namespace tilewright::cuda
