#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/launch/forward_params.h"

// The parameter structs of the backward kernels, field by field as attention/backward_params.cuh,
// attention/backward_prepare.cuh and attention/gradient_finish.cuh declare them.
namespace tilewright::cuda::params {

/// FloatKind: the values of DType.
using FloatKind = std::int32_t;

/// QueryCut of attention/query_cut.cuh.
struct QueryCut {
  std::int32_t tile_rows = 0;
  std::int32_t block_tiles = 1;
  std::int32_t block_rows = 0;
};

struct BackwardPrepare {
  DeviceAddress out = 0;
  DeviceAddress d_out = 0;
  DeviceAddress lse = 0;
  DeviceAddress d_lse = 0;
  DeviceAddress minus_lse = 0;
  DeviceAddress delta = 0;
  DeviceAddress d_out_copy = 0;
  DeviceAddress d_query_sums = 0;
  DeviceAddress turns = 0;
  TensorStrides out_strides, d_out_strides, lse_strides, d_lse_strides;
  std::int32_t query_heads = 0;
  std::int32_t q_rows = 0;
  std::int32_t q_tiles = 0;
  std::int32_t sum_floats = 0;
  FloatKind out_kind = 0;
  FloatKind d_out_kind = 0;
  FloatKind d_lse_kind = 0;
  std::int32_t out_in_vectors = 0;
  std::int32_t d_out_in_vectors = 0;
  std::int32_t value_dim = 0;
  QueryCut cut;
};
static_assert(offsetof(BackwardPrepare, out_strides) == 72);
static_assert(offsetof(BackwardPrepare, query_heads) == 200);
static_assert(sizeof(BackwardPrepare) == 256);

struct GradientStrides {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t row = 0;
};

struct BackwardSchedule {
  DeviceAddress list = 0;
  DeviceAddress counters = 0;
  std::int32_t items = 0;
  std::int32_t kv_tiles = 0;
  std::int32_t section_heads = 1;
  std::int32_t parts = 1;
};

struct HopperBackward {
  TensorMap query, key, value, d_out;
  DeviceAddress minus_lse = 0;
  DeviceAddress delta = 0;
  DeviceAddress d_query_sums = 0;
  DeviceAddress turns = 0;
  DeviceAddress d_key_sums = 0;
  DeviceAddress d_value_sums = 0;
  DeviceAddress d_key = 0;
  DeviceAddress d_value = 0;
  DeviceAddress error = 0;
  GradientStrides d_key_strides, d_value_strides;
  BackwardSchedule schedule;
  Extents extents;
  std::int32_t q_tiles = 0;
  float scale = 1;
  float scale_log2 = 1;
};
static_assert(offsetof(HopperBackward, minus_lse) == 512);
static_assert(offsetof(HopperBackward, d_key_strides) == 584);
static_assert(offsetof(HopperBackward, schedule) == 632);
static_assert(offsetof(HopperBackward, extents) == 664);
static_assert(offsetof(HopperBackward, scale_log2) == 696);
static_assert(sizeof(HopperBackward) == 704);

/// ExtendedBackwardParams of attention/backward_extension.cuh.
struct ExtendedHopperBackward {
  HopperBackward backward;
  SpanLists lists;
  KeyLengths lengths;
  DeviceAddress keys = 0;
  QueryCut cut;
  std::int32_t reserved = 0;
};
static_assert(offsetof(ExtendedHopperBackward, lists) == 704);
static_assert(offsetof(ExtendedHopperBackward, keys) == 752);
static_assert(sizeof(ExtendedHopperBackward) == 832);

struct PortableBackward {
  DeviceAddress query = 0;
  DeviceAddress key = 0;
  DeviceAddress value = 0;
  DeviceAddress d_out = 0;
  DeviceAddress minus_lse = 0;
  DeviceAddress delta = 0;
  DeviceAddress d_query_sums = 0;
  DeviceAddress turns = 0;
  DeviceAddress d_key_sums = 0;
  DeviceAddress d_value_sums = 0;
  DeviceAddress d_key = 0;
  DeviceAddress d_value = 0;
  DeviceAddress error = 0;
  TensorStrides query_strides, key_strides, value_strides;
  TensorStrides d_out_strides, d_key_strides, d_value_strides;
  SpanLists lists;
  KeyLengths lengths;
  BackwardSchedule schedule;
  Extents extents;
  std::int32_t q_tiles = 0;
  QueryCut cut;
  std::int32_t head_dim = 0;
  std::int32_t value_dim = 0;
  std::int32_t d_key_in_vectors = 0;
  std::int32_t d_value_in_vectors = 0;
  std::int32_t lse_has_gradient = 0;
  float scale = 1;
  float scale_log2 = 1;
};
static_assert(offsetof(PortableBackward, query_strides) == 104);
static_assert(offsetof(PortableBackward, lists) == 296);
static_assert(offsetof(PortableBackward, extents) == 376);
static_assert(sizeof(PortableBackward) == 448);

struct GradientFinish {
  DeviceAddress sums = 0;
  DeviceAddress gradient = 0;
  std::int64_t part_floats = 0;
  std::int64_t batch_stride = 0;
  std::int64_t head_stride = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;
  std::int32_t heads = 0;
  std::int32_t rows = 0;
  std::int32_t tiles = 0;
  std::int32_t parts = 1;
  float factor = 1;
  FloatKind kind = 0;
  std::int32_t in_vectors = 0;
  std::int32_t dim = 0;
  QueryCut cut;
};
static_assert(offsetof(GradientFinish, heads) == 56);
static_assert(sizeof(GradientFinish) == 104);

}  // namespace tilewright::cuda::params
