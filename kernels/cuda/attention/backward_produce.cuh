// The producer warp: takes items, classifies query tiles of all their streams and keeps the copy
// engine ahead of the consumers.
//
// Copies are issued in the order Q0 K dO0 V Q1 dO1 ...: the first query tile of an item need not
// wait until the keys of the item before are done with. Every Q brings its rows' minus_lse, every
// dO their delta.
#pragma once

#include "attention/backward_layout.cuh"
#include "attention/backward_params.cuh"
#include "attention/item_keys.cuh"
#include "attention/item_source.cuh"
#include "attention/key_words.cuh"
#include "attention/listed_query_walk.cuh"
#include "ptx/bulk_copy.cuh"
#include "ptx/tensor_map_edit.cuh"
#include "tile/copy_tile.cuh"

namespace tilewright::cuda {

/// Where a query tile comes from.
struct StreamTile {
  QueryTileRef tile;
  i32 batch;
  i32 head;
  bool new_stream;
};

/// The walk of one stream: by the mask, or by span lists.
template <class Variant, class Mods, bool kWalksLists = Variant::kWalksLists>
struct WalkOfStream {
  using Type = QueryWalk<BackwardLayout<Variant>, Variant::kDeterministic, Mods>;
  static __device__ __forceinline__ Type make(const BackwardParams& params,
                                              const typename Mods::Bindings& bindings,
                                              const BackwardExtension*) {
    return {bindings, params.extents.query_rows};
  }
};
template <class Variant, class Mods>
struct WalkOfStream<Variant, Mods, true> {
  using Type = ListedQueryWalk<BackwardLayout<Variant>, Variant::kDeterministic>;
  static __device__ __forceinline__ Type make(const BackwardParams& params,
                                              const typename Mods::Bindings&,
                                              const BackwardExtension* extension) {
    return {*extension, params.q_tiles};
  }
};

/// The query tiles of all streams of an item, one after the other.
template <class Variant, class Mods>
struct StreamWalk {
  using Walk = typename WalkOfStream<Variant, Mods>::Type;

  const Extents& extents;
  const BackwardExtension* extension;
  Walk walk;
  i32 stream = 0;  ///< the next one to start
  i32 batch = 0, head = 0;

  __device__ __forceinline__ StreamTile first(const BackwardItem& item, u32 lane) {
    stream = item.stream_begin;
    return next_stream(item, lane);
  }
  __device__ __forceinline__ StreamTile next(const BackwardItem& item, u32 lane) {
    const QueryTileRef tile = walk.next(lane);
    if (tile.valid) return {tile, batch, head, false};
    return next_stream(item, lane);
  }

 private:
  __device__ __forceinline__ StreamTile next_stream(const BackwardItem& item, u32 lane) {
    while (stream < item.stream_end) {
      const i32 above = stream / extents.group_heads;
      batch = extents.kv_batches == 1 ? above : item.kv_batch;
      head = item.kv_head * extents.group_heads + stream - above * extents.group_heads;
      ++stream;
      i32 keys = extents.kv_rows;
      if constexpr (Variant::kReadsLengths) {
        keys = extension->lengths.keys(batch, extents.kv_rows);
        if (keys <= item.kv_begin) continue;
      }
      walk.start(item, batch, head, keys);
      const QueryTileRef tile = walk.next(lane);
      if (tile.valid) return {tile, batch, head, true};
    }
    return {{0, 0, false, false}, 0, 0, false};
  }
};

template <class Variant, class Mods>
struct BackwardProducer {
  using Layout = BackwardLayout<Variant>;

  const BackwardParams& params;
  const typename Mods::Bindings& bindings;
  Layout layout;
  u32 lane;
  const BackwardExtension* extension;
  RingPosition<1> kv_at{};
  RingPosition<Layout::kQueryStages> query_at{};
  RingPosition<Layout::kGradStages> grad_at{};
  RingPosition<Layout::kItemSlots> item_at{};
  u32 note_at = 0;

  __device__ __forceinline__ void run() {
    ItemSource<Layout::kOrdered> source{params.schedule.counters, params.schedule.items, lane};
    for (i32 index = source.first(); index < params.schedule.items; index = source.next()) {
      produce_item(decode_backward_item<Layout::kKeyTile, Layout::kDescends>(
          params.schedule, params.extents, index));
    }
    send_note({0, 0, QueryNote::kEndsStream, 0});
    source.finish();
  }

  __device__ __forceinline__ void produce_item(BackwardItem item) {
    if constexpr (Variant::kReadsLengths) {
      item.live_end = last_live_end(extension->lengths, params.extents, item);
    }
    if (lane == 0) {
      layout.item_ring().wait_empty(item_at);
      layout.item(item_at.stage) = item;
    }
    item_at.advance();
    StreamWalk<Variant, Mods> walk{params.extents, extension,
                                   WalkOfStream<Variant, Mods>::make(params, bindings, extension)};
    StreamTile tile = walk.first(item, lane);
    if (!tile.tile.valid) {
      send_note({0, 0, QueryNote::kFirst | QueryNote::kLast | QueryNote::kNothing, 0});
      return;
    }
    bool first = true;
    while (tile.tile.valid) {
      const StreamTile following = walk.next(item, lane);
      u32 flags = (first ? QueryNote::kFirst : 0) | (following.tile.valid ? 0 : QueryNote::kLast) |
                  (tile.new_stream ? QueryNote::kNewStream : 0) |
                  (tile.tile.partial ? QueryNote::kPartial : 0) | own_turn(item);
      if constexpr (Layout::kSeesKeyWords) {
        const TileKeys keys = keys_of(item, tile);
        if (!covers(keys.words)) flags |= QueryNote::kPartial;
        if (lane == 0) write_keys(keys);
      }
      if (lane == 0) copy(item, tile, flags);
      advance();
      tile = following;
      first = false;
    }
    kv_at.advance();
  }

  /// Which of the item's keys the query tile sees. Called by the whole warp.
  __device__ __forceinline__ TileKeys keys_of(const BackwardItem& item,
                                              const StreamTile& from) const {
    const i32 kv_end = live_end<Variant::kReadsLengths>(extension, item, from.batch);
    if constexpr (Variant::kWalksLists) {
      const SpanLists& lists = extension->lists;
      const i32 q_begin = extension->cut.begin(from.tile.q_begin / Layout::kQueryTile);
      return {listed_keys(lists, list_of(lists, from.batch, from.head, q_begin),
                          {item.kv_begin, kv_end}, lane),
              q_begin};
    } else {
      return {first_keys(kv_end - item.kv_begin), from.tile.q_begin};
    }
  }

  /// Whether a tile with these keys is whole, as far as its walk does not know.
  static __device__ __forceinline__ bool covers(const KeyWords& words) {
    return words.covers<Layout::kKeyTile>(Variant::kWalksLists && Mods::kHasMaskMod);
  }

  __device__ __forceinline__ void write_keys(const TileKeys& keys) const {
    layout.query_ring().wait_empty(query_at);
    layout.tile_keys(query_at.stage) = keys;
  }

  __device__ __forceinline__ void copy(const BackwardItem& item, const StreamTile& from,
                                       u32 flags) {
    const bool first = flags & QueryNote::kFirst;
    const i32 stream = from.batch * params.extents.query_heads + from.head;
    const i64 row =
        static_cast<i64>(stream) * params.q_tiles * Layout::kQueryTile + from.tile.q_begin;
    const ptx::TensorCoordinate keys = {0, item.kv_begin, item.kv_head, item.kv_batch};
    const ptx::TensorCoordinate queries = {0, first_row(from.tile), from.head, from.batch};
    copy_query(queries, {from.tile.q_begin, stream, flags, from.tile.turn}, params.minus_lse + row);
    if (first) copy_key(keys);
    copy_d_out(queries, params.delta + row);
    if (first) copy_value(keys);
  }

  __device__ __forceinline__ i32 first_row(const QueryTileRef& tile) const {
    if constexpr (Variant::kWalksLists) {
      return layout.tile_keys(query_at.stage).q_begin;
    } else {
      return tile.q_begin;
    }
  }

  __device__ __forceinline__ void copy_key(ptx::TensorCoordinate source) {
    layout.key_ring().wait_empty(kv_at);
    const ptx::Mbarrier full = layout.key_ring().full(kv_at.stage);
    ptx::arrive_expect_bytes(full, Layout::KeyTile::kBytes);
    copy_tile<typename Layout::KeyTile>(layout.key(), key_map(source.batch), source, full);
  }

  /// Keys behind the last one may be anything, and would be multiplied by zero: the map ends before
  /// them.
  __device__ __forceinline__ const ptx::TensorMap* key_map(i32 batch) const {
    if constexpr (Variant::kReadsLengths) {
      const ptx::TensorMap* const map = extension->keys + batch;
      ptx::acquire(map);
      return map;
    } else {
      return &params.key;
    }
  }

  __device__ __forceinline__ void copy_value(ptx::TensorCoordinate source) {
    layout.value_ring().wait_empty(kv_at);
    const ptx::Mbarrier full = layout.value_ring().full(kv_at.stage);
    ptx::arrive_expect_bytes(full, Layout::ValueTile::kBytes);
    copy_tile<typename Layout::ValueTile>(layout.value(), &params.value, source, full);
  }

  __device__ __forceinline__ void copy_query(ptx::TensorCoordinate source, QueryNote note,
                                             const float* minus_lse) {
    layout.query_ring().wait_empty(query_at);
    layout.note(note_at) = note;
    const ptx::Mbarrier full = layout.query_ring().full(query_at.stage);
    ptx::arrive_expect_bytes(full, Layout::QueryTile::kBytes + Layout::kRowBytes);
    copy_tile<typename Layout::QueryTile>(layout.query(query_at.stage), &params.query, source,
                                          full);
    ptx::copy_bytes(layout.minus_lse(query_at.stage), minus_lse, Layout::kRowBytes, full);
  }

  __device__ __forceinline__ void copy_d_out(ptx::TensorCoordinate source, const float* delta) {
    layout.grad_ring().wait_empty(grad_at);
    const ptx::Mbarrier full = layout.grad_ring().full(grad_at.stage);
    ptx::arrive_expect_bytes(full, Layout::GradTile::kBytes + Layout::kRowBytes);
    copy_tile<typename Layout::GradTile>(layout.d_out(grad_at.stage), &params.d_out, source, full);
    ptx::copy_bytes(layout.delta(grad_at.stage), delta, Layout::kRowBytes, full);
  }

  __device__ __forceinline__ static u32 own_turn(const BackwardItem& item) {
    if constexpr (!Layout::kOrdered) return 0;
    return static_cast<u32>(item.kv_begin / Layout::kKeyTile + 1) << QueryNote::kOwnTurnAt;
  }

  __device__ __forceinline__ void advance() {
    query_at.advance();
    grad_at.advance();
    note_at = (note_at + 1) % Layout::kNotes;
  }

  /// A note without a tile.
  __device__ __forceinline__ void send_note(QueryNote note) {
    if (lane == 0) {
      layout.query_ring().wait_empty(query_at);
      layout.note(note_at) = note;
      ptx::arrive(layout.query_ring().full(query_at.stage));
      layout.grad_ring().wait_empty(grad_at);
      ptx::arrive(layout.grad_ring().full(grad_at.stage));
    }
    advance();
  }
};

}  // namespace tilewright::cuda
