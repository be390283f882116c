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
  i32 q_end;
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

/// Columns [first, dim) of a tensor, of which a tile takes the first ones.
struct ColumnsFrom {
  i32 first;
  i32 dim;
};

template <class Variant>
struct CaptureCopies {
  using Layout = CaptureLayout<Variant>;
  static constexpr i64 kElement = kElementBytes<typename Variant::Element>;

  const CaptureParams& params;
  const Layout& layout;
  const CaptureStream& stream;

  __device__ __forceinline__ void query(i32 column) const {
    copy<typename Layout::QueryTile>(Layout::kQueryAt,
                                     query_rows(params.query, params.query_strides),
                                     {column, Variant::kHeadDim});
  }
  __device__ __forceinline__ void d_out(i32 column) const {
    copy<typename Layout::GradTile>(Layout::kGradAt, query_rows(params.d_out, params.d_out_strides),
                                    {column, Variant::kValueDim});
  }
  __device__ __forceinline__ void key(i32 begin, i32 end, i32 column) const {
    copy<typename Layout::KeyTile>(Layout::kKeyAt,
                                   key_rows(params.key, params.key_strides, begin, end),
                                   {column, Variant::kHeadDim});
  }
  __device__ __forceinline__ void value(i32 begin, i32 end, i32 column) const {
    copy<typename Layout::ValueTile>(Layout::kValueAt,
                                     key_rows(params.value, params.value_strides, begin, end),
                                     {column, Variant::kValueDim});
  }

 private:
  __device__ __forceinline__ HeadRows query_rows(const void* base,
                                                 const TensorStrides& strides) const {
    return {base,        strides,        stream.batch,
            stream.head, stream.q_begin, stream.q_end - stream.q_begin};
  }
  __device__ __forceinline__ HeadRows key_rows(const void* base, const TensorStrides& strides,
                                               i32 begin, i32 end) const {
    const Extents& x = params.extents;
    const i32 batch = x.kv_batches == 1 ? 0 : stream.batch;
    return {base, strides, batch, stream.head / x.group_heads, begin, end - begin};
  }

  template <class Tile>
  __device__ __forceinline__ void copy(u32 to, const HeadRows& rows, ColumnsFrom columns) const {
    const TensorStrides& s = rows.strides;
    const i64 offset =
        rows.batch * s.batch + rows.head * s.head + rows.first * s.row + columns.first * s.column;
    const StridedRows from = {static_cast<const unsigned char*>(rows.base) + offset * kElement,
                              s.row * kElement, rows.rows};
    RowCopy<Tile, Layout::kThreads, Variant::kCopyBytes, false>(ptx::thread_in_block())
        .run(layout.at(to), from, {s.column * kElement, columns.dim - columns.first});
  }
};

}  // namespace tilewright::cuda
