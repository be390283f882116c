// What a block of the portable family copies into shared memory: its query rows once, then key and
// value tiles.
#pragma once

#include "attention/portable_item.cuh"
#include "attention/portable_layout.cuh"
#include "tile/copy_rows.cuh"

namespace tilewright::cuda {

/// Query rows of an item in global memory.
template <bool kPacksGroup>
struct QueryRowsInMemory {
  const ItemRows<kPacksGroup>& rows;
  const unsigned char* batch;
  i64 head_bytes;
  i64 row_bytes;

  __device__ __forceinline__ const unsigned char* row(i32 r) const {
    const QueryRow at = rows.at(rows.item.q_begin + r);
    return batch + at.head * head_bytes + at.position * row_bytes;
  }
  __device__ __forceinline__ const unsigned char* below(const unsigned char*, i32 r, i32 /*step*/,
                                                        i32 at) const {
    return row(r) + at;
  }
  __device__ __forceinline__ bool has(i32 r) const {
    return rows.item.q_begin + r < rows.item.q_end;
  }
};

template <class Variant>
struct PortableCopies {
  using Layout = PortableLayout<Variant>;
  using QueryTile = typename Layout::QueryTile;
  using KeyTile = typename Layout::KeyTile;
  using ValueTile = typename Layout::ValueTile;
  static constexpr i64 kElement = kElementBytes<typename Variant::Element>;
  static constexpr bool kPacksGroup = Variant::kPacksGroup;
  static constexpr bool kInBursts = Variant::kStages == 2;
  /// Threads that do not copy the query: the first warp looks for key tiles meanwhile.
  static constexpr int kSearchThreads = Variant::kWarps > 1 ? 32 : 0;
  template <class Tile>
  using Copy = RowCopy<Tile, Layout::kThreads, Variant::kCopyBytes, kInBursts>;
  using QueryCopy =
      RowCopy<QueryTile, Layout::kThreads - kSearchThreads, Variant::kCopyBytes, kInBursts>;

  /// Registers that live from tile to tile and while scores are made.
  static constexpr int kHeldRegisters =
      Variant::kStrips * (Variant::kKeyTile / 2 + Variant::kValueTile / 2 +
                          (Variant::kHoldsQuery ? 4 * QueryTile::kSteps : 0));
  /// A burst of copies holds up the matrix loads behind it, so it comes after the scores, unless
  /// registers do not last for both.
  static constexpr bool kCopiesFirst = kHeldRegisters > 200;

  const PortableParams& params;
  const Layout& layout;
  const ItemRows<kPacksGroup>& rows;

  /// Where registers are short, offsets that depend on the thread are computed for every tile anew.
  static __device__ __forceinline__ u32 thread() {
    const u32 index = ptx::thread_in_block();
    return Variant::kStrips == 1 && kHeldRegisters < 184 ? index : ptx::forgotten(index);
  }

  /// Of Ev, that the block computes.
  static __device__ __forceinline__ i32 first_value_column() {
    return static_cast<i32>(ptx::block_row_in_grid()) * Variant::kValueTile;
  }

  /// Called by one warp before keys or values are copied.
  __device__ __forceinline__ void start() const {
    layout.key_source() = source(params.key, params.key_strides, params.head_dim, 0);
    layout.value_source() =
        source(params.value, params.value_strides, params.value_dim, first_value_column());
  }

  /// Called by every thread that does not search.
  __device__ __forceinline__ void query() const {
    const TensorStrides& s = params.query_strides;
    const auto* const base = static_cast<const unsigned char*>(params.query);
    const QueryRowsInMemory<kPacksGroup> from = {rows, base + rows.item.batch * s.batch * kElement,
                                                 s.head * kElement, s.row * kElement};
    QueryCopy(ptx::thread_in_block() - kSearchThreads)
        .run(layout.query(), from, {s.column * kElement, params.head_dim});
  }

  __device__ __forceinline__ void key(KeyTileNote tile, u32 stage) const {
    copy<KeyTile>(layout.key(stage), layout.key_source(), tile);
  }

  __device__ __forceinline__ void value(KeyTileNote tile, u32 stage) const {
    copy<ValueTile>(layout.value(stage), layout.value_source(), tile);
  }

 private:
  /// Of columns [first_column, all_columns) of the item's keys or values.
  __device__ __forceinline__ TileSource source(const void* base, const TensorStrides& s,
                                               i32 all_columns, i32 first_column) const {
    const i64 offset =
        rows.key_batch() * s.batch + rows.key_head() * s.head + first_column * s.column;
    return {static_cast<const unsigned char*>(base) + offset * kElement, s.row * kElement,
            s.column * kElement, all_columns - first_column, 0};
  }

  template <class Tile>
  static __device__ __forceinline__ void copy(ptx::SharedAddress to, const TileSource& from,
                                              KeyTileNote tile) {
    const StridedRows rows_of_tile = {from.first + tile.kv_begin * from.row_bytes, from.row_bytes,
                                      tile.keys()};
    Copy<Tile>(thread()).run(to, rows_of_tile, {from.column_bytes, from.columns});
  }
};

}  // namespace tilewright::cuda
