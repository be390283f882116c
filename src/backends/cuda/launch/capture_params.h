#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/launch/backward_params.h"

// The parameter structs of the kernels of captured gradients, field by field as
// attention/capture_params.cuh and attention/capture_finish.cuh declare them.
namespace tilewright::cuda::params {

inline constexpr std::size_t kMaxCaptureTargets = 16;

struct CaptureTarget {
  DeviceAddress sums = 0;
  std::int64_t copy_floats = 0;
};

struct CaptureSchedule {
  std::int32_t blocks = 1;
  std::int32_t stream_parts = 1;
  std::int32_t q_tiles = 0;
  std::int32_t chunks = 1;
  std::int32_t chunk_keys = 64;
  QueryCut cut;
};

struct Captures {
  DeviceAddress query = 0;
  DeviceAddress key = 0;
  DeviceAddress value = 0;
  DeviceAddress d_out = 0;
  DeviceAddress minus_lse = 0;
  DeviceAddress delta = 0;
  DeviceAddress error = 0;
  TensorStrides query_strides, key_strides, value_strides, d_out_strides;
  CaptureTarget target[kMaxCaptureTargets];
  CaptureSchedule schedule;
  Extents extents;
  std::int32_t stream_rows = 0;
  std::int32_t row_pitch = 0;
  QueryCut row_cut;
  float scale = 1;
  float scale_log2 = 1;
  SpanLists lists;
  KeyLengths lengths;
};
static_assert(offsetof(Captures, target) == 184);
static_assert(offsetof(Captures, schedule) == 440);
static_assert(offsetof(Captures, lists) == 528);
static_assert(sizeof(Captures) == 576);

struct CaptureFinish {
  DeviceAddress sums = 0;
  DeviceAddress gradient = 0;
  std::int64_t elements = 0;
  std::int64_t extent[16] = {};
  std::int64_t stride[16] = {};
  std::int32_t rank = 0;
  std::int32_t copies = 0;
  FloatKind kind = 0;
  std::int32_t reserved = 0;
};
static_assert(offsetof(CaptureFinish, rank) == 280);
static_assert(sizeof(CaptureFinish) == 296);

}  // namespace tilewright::cuda::params
