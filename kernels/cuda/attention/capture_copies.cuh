// What a block of the kernel of captured gradients copies into shared memory: query and dO rows
// once a (batch, head) pair, then key and value tiles.
#pragma once

#include "attention/capture_layout.cuh"
#include "tile/copy_rows.cuh"

namespace tilewright::cuda {

/// A (batch, head) pair against a tile of query rows.
struct CaptureStream {
  i32 batch;
  i32 head;
  i32 q_begin;
};

/// Rows [first, first + rows) of one head of a tensor.
struct HeadRows {
  const void* base;
  const TensorStrides& strides;
  i32 batch;
  i32 head;
  i32 first;
  i32 rows;
};

template <class Variant>
struct CaptureCopies {
  using Layout = CaptureLayout<Variant>;

  const CaptureParams& params;
  const Layout& layout;
  const CaptureStream& stream;

  __device__ __forceinline__ void queries(i32 q_end) const {
    const i32 rows = q_end - stream.q_begin;
    copy<typename Layout::QueryTile, Variant::kHeadDim>(
        Layout::kQueryAt,
        {params.query, params.query_strides, stream.batch, stream.head, stream.q_begin, rows});
    copy<typename Layout::GradTile, Variant::kValueDim>(
        Layout::kGradAt,
        {params.d_out, params.d_out_strides, stream.batch, stream.head, stream.q_begin, rows});
  }

  __device__ __forceinline__ void keys(i32 begin, i32 end) const {
    const Extents& x = params.extents;
    const i32 batch = x.kv_batches == 1 ? 0 : stream.batch;
    const i32 head = stream.head / x.group_heads;
    copy<typename Layout::KeyTile, Variant::kHeadDim>(
        Layout::kKeyAt, {params.key, params.key_strides, batch, head, begin, end - begin});
    copy<typename Layout::ValueTile, Variant::kValueDim>(
        Layout::kValueAt, {params.value, params.value_strides, batch, head, begin, end - begin});
  }

 private:
  template <class Tile, i32 kColumns>
  __device__ __forceinline__ void copy(u32 to, const HeadRows& rows) const {
    const TensorStrides& s = rows.strides;
    const i64 offset = rows.batch * s.batch + rows.head * s.head + rows.first * s.row;
    const StridedRows from = {static_cast<const unsigned char*>(rows.base) + offset * 2, s.row * 2,
                              rows.rows};
    RowCopy<Tile, Layout::kThreads, 16, false>(ptx::thread_in_block())
        .run(layout.at(to), from, {2, kColumns});
  }
};

}  // namespace tilewright::cuda
