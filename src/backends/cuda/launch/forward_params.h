#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/driver/driver.h"

// The parameter structs of the kernels, field by field as attention/forward_params.cuh,
// attention/work_item.cuh and attention/portable_params.cuh declare them. Addresses are device
// addresses; extents and strides count rows, heads and elements.
namespace tilewright::cuda::params {

struct OutputStrides {
  std::int64_t slot = 0;
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t row = 0;
};

struct Schedule {
  DeviceAddress list = 0;
  DeviceAddress counters = 0;
  std::int32_t items = 0;
  std::int32_t q_tiles = 0;
  std::int32_t section_heads = 1;
  std::int32_t last_tile_first = 0;
};

struct Extents {
  std::int32_t batches = 0;
  std::int32_t query_heads = 0;
  std::int32_t group_heads = 1;
  std::int32_t kv_batches = 0;
  std::int32_t query_rows = 0;
  std::int32_t kv_rows = 0;
};

struct Hopper {
  TensorMap query, key, value;
  DeviceAddress out = 0;
  DeviceAddress lse = 0;
  DeviceAddress max_scores = 0;
  DeviceAddress error = 0;
  OutputStrides out_strides;
  OutputStrides lse_strides;
  Schedule schedule;
  Extents extents;
  float scale = 1;
  float scale_log2 = 1;
};
static_assert(offsetof(Hopper, out) == 384);
static_assert(offsetof(Hopper, out_strides) == 416);
static_assert(offsetof(Hopper, schedule) == 480);
static_assert(offsetof(Hopper, extents) == 512);
static_assert(offsetof(Hopper, scale_log2) == 540);
static_assert(sizeof(Hopper) == 576);

struct SpanLists {
  DeviceAddress spans = 0;
  DeviceAddress ranges = 0;
  std::int32_t q_blocks = 0;
  std::int32_t q_block_rows = 0;
  std::int32_t batches = 0;
  std::int32_t heads = 0;
};

struct ItemLists {
  SpanLists spans;
  std::int32_t query_rows = 0;
  std::int32_t item_rows = 0;
  std::int32_t block_tiles = 1;
};

struct KeyLengths {
  DeviceAddress of_batch = 0;
  std::int64_t stride = 0;
};

/// Of Hopper variants that walk lists or read lengths; the others end before `lists`.
struct ExtendedHopper {
  Hopper forward;
  ItemLists lists;
  KeyLengths lengths;
  DeviceAddress value_maps = 0;
};
static_assert(offsetof(ExtendedHopper, lists) == 576);
static_assert(sizeof(ExtendedHopper) == 704);

struct TensorStrides {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t row = 0;
  std::int64_t column = 0;
};

struct SlotStrides {
  std::int64_t slot = 0;
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t row = 0;
  std::int64_t column = 0;
};

struct PortableSchedule {
  DeviceAddress list = 0;
  std::int32_t items = 0;
  std::int32_t q_tiles = 0;
  std::int32_t item_rows = 0;
  std::int32_t section_heads = 1;
  std::int32_t last_tile_first = 0;
  std::int32_t splits = 1;
  std::int32_t split_keys = 0;
  std::int32_t block_tiles = 1;
};

struct Portable {
  DeviceAddress query = 0;
  DeviceAddress key = 0;
  DeviceAddress value = 0;
  DeviceAddress out = 0;
  DeviceAddress lse = 0;
  DeviceAddress max_scores = 0;
  DeviceAddress error = 0;
  TensorStrides query_strides, key_strides, value_strides;
  SlotStrides out_strides;
  SlotStrides lse_strides;
  SpanLists lists;
  PortableSchedule schedule;
  Extents extents;
  std::int32_t head_dim = 0;
  std::int32_t value_dim = 0;
  std::int32_t out_in_vectors = 0;
  float scale = 1;
  float scale_log2 = 1;
  KeyLengths lengths;
};
static_assert(offsetof(Portable, out_strides) == 152);
static_assert(offsetof(Portable, schedule) == 264);
static_assert(sizeof(Portable) == 368);

}  // namespace tilewright::cuda::params
