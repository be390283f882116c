// What a portable backward block copies into shared memory: its keys and values once, then query
// tiles with their dO, lse and delta.
#pragma once

#include "attention/portable_backward_layout.cuh"
#include "attention/portable_item.cuh"
#include "tile/copy_rows.cuh"

namespace tilewright::cuda {

template <class Variant>
struct PortableBackwardCopies {
  using Layout = PortableBackwardLayout<Variant>;
  static constexpr i64 kElement = kElementBytes<typename Variant::Element>;
  /// Threads that do not copy keys and values: the first warp looks for query tiles meanwhile.
  static constexpr int kSearchThreads = Layout::kWarps > 1 ? 32 : 0;
  template <class Tile, int kThreads>
  using Copy = RowCopy<Tile, kThreads, Variant::kCopyBytes, true>;

  const PortableBackwardParams& params;
  const Layout& layout;

  /// Called by every thread that does not search.
  __device__ __forceinline__ void keys_and_values() const {
    constexpr int kThreads = Layout::kThreads - kSearchThreads;
    const BackwardItem& item = layout.item();
    const u32 thread = ptx::thread_in_block() - kSearchThreads;
    // Keys behind the last one may be anything, and would be multiplied by zero.
    const Rows rows = {item.kv_batch, item.kv_head, item.kv_begin, item.live_end - item.kv_begin};
    copy<typename Layout::KeyTile, kThreads>(
        thread, layout.key(), {params.key, params.key_strides, params.head_dim}, rows);
    copy<typename Layout::ValueTile, kThreads>(
        thread, layout.value(), {params.value, params.value_strides, params.value_dim}, rows);
  }

  __device__ __forceinline__ void query(const QueryVisit& visit, u32 stage) const {
    copy<typename Layout::QueryTile, Layout::kThreads>(
        ptx::forgotten(ptx::thread_in_block()), layout.query(stage),
        {params.query, params.query_strides, params.head_dim}, rows_of(visit));
    copy_numbers(layout.minus_lse(stage), params.minus_lse, visit);
  }

  __device__ __forceinline__ void d_out(const QueryVisit& visit, u32 stage) const {
    copy<typename Layout::GradTile, Layout::kThreads>(
        ptx::forgotten(ptx::thread_in_block()), layout.d_out(stage),
        {params.d_out, params.d_out_strides, params.value_dim}, rows_of(visit));
    copy_numbers(layout.delta(stage), params.delta, visit);
  }

 private:
  struct Operand {
    const void* base;
    const TensorStrides& strides;
    i32 columns;
  };
  struct Rows {
    i32 batch;
    i32 head;
    i32 first;
    i32 count;
  };

  __device__ __forceinline__ Rows rows_of(const QueryVisit& visit) const {
    const i32 batch = quotient(visit.stream, params.extents.query_heads);
    const i32 first = params.cut.begin(visit.tile);
    return {batch, visit.stream - batch * params.extents.query_heads, first,
            params.cut.end(visit.tile, params.extents.query_rows) - first};
  }

  template <class Tile, int kThreads>
  static __device__ __forceinline__ void copy(u32 thread, ptx::SharedAddress to, const Operand& of,
                                              const Rows& rows) {
    const TensorStrides& s = of.strides;
    const i64 offset = rows.batch * s.batch + rows.head * s.head + rows.first * s.row;
    const auto* const first = static_cast<const unsigned char*>(of.base) + offset * kElement;
    Copy<Tile, kThreads>(thread).run(to, StridedRows{first, s.row * kElement, rows.count},
                                     {s.column * kElement, of.columns});
  }

  __device__ __forceinline__ void copy_numbers(ptx::SharedAddress to, const float* of_all,
                                               const QueryVisit& visit) const {
    const u32 thread = ptx::thread_in_block();
    const i64 tile = static_cast<i64>(visit.stream) * params.q_tiles + visit.tile;
    const float* const of_tile = of_all + tile * Layout::kQueryTile;
    if (thread < Layout::kQueryTile / 4) ptx::copy_16_bytes(to + thread * 16, of_tile + thread * 4);
  }
};

}  // namespace tilewright::cuda
