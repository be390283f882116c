// Gradients of captured tensors (semantics R7), on any device of the mma.sync family.
//
// Formula    S = Q K^T, T = score_mod(scale S), P = e^(T - lse) where live, else 0; dP = dO V^T,
//            dT = P (dP - delta); d capture[place] += dT dT/d load for every load and live pair.
// Pipeline   a block's units, (batch, head) pairs and key tiles one after the other; a tile's
//            copies, products, terms and sums follow each other, and blocks on one multiprocessor
//            overlap.
// Tensors    query, key, value, d_out: element type, global, any strides (kCopyBytes); minus_lse,
//            delta fp32, global, from backward_prepare.cuh; sums fp32, global, a copy a block.
// Memory     shared: query, dO, key and value tile, or slabs of their columns, terms
//            [queries][keys] fp32; registers a thread: S and dP of 16 queries by 64 keys a warp.
// Numbers    S, dP, terms and sums fp32. Dead pairs are selected away. Sums have one order, which
//            depends on the problem and the number of blocks; but pairs that may meet anywhere are
//            added by the memory itself in variants without kOrderedPairs.
#pragma once

#include "attention/capture_contract.cuh"
#include "attention/capture_entries.cuh"
#include "attention/capture_products.cuh"
#include "ptx/vector_memory.cuh"

namespace tilewright::cuda {

template <class Variant, class Mods, class Captures>
struct CaptureGradients {
  using Layout = CaptureLayout<Variant>;
  using Score = Accumulator<Layout::kKeyTile>;
  static constexpr i32 kQueryTile = Layout::kQueryTile;
  static constexpr i32 kKeyTile = Layout::kKeyTile;
  /// Elements of a thread whose loads are in line with each other: all, or one where the program
  /// has so many loads that compiling them would take longer than they run.
  static constexpr int kElementsInLine = Captures::kLoads > 4 ? 1 : Score::kElements;

  const CaptureParams& params;
  const typename Mods::Bindings& bindings;
  Layout layout;
  u32 warp, lane;
  typename Mods::Head head{};
  typename Mods::Row row[kRowsPerThread]{};
  CaptureStream stream{};
  float minus_lse[kRowsPerThread]{};
  float delta[kRowsPerThread]{};

  __device__ __forceinline__ CaptureGradients(const CaptureParams& given,
                                              const typename Mods::Bindings& bound,
                                              unsigned char* memory)
      : params(given),
        bindings(bound),
        layout{memory},
        warp(ptx::broadcast(ptx::thread_in_block() / 32, 0)),
        lane(ptx::thread_in_block() % 32) {}

  __device__ __forceinline__ void run() {
    const CaptureSchedule& s = params.schedule;
    const i32 units = s.stream_parts * s.q_tiles * s.chunks;
    const i32 streams = params.extents.batches * params.extents.query_heads;
    for (i32 unit = static_cast<i32>(ptx::block_in_grid()); unit < units; unit += s.blocks) {
      const i32 tile = unit / s.chunks;
      const i32 part = tile / s.q_tiles;
      const i32 kv_begin = (unit - tile * s.chunks) * s.chunk_keys;
      const i32 kv_end = min(kv_begin + s.chunk_keys, params.extents.kv_rows);
      const i32 end = static_cast<i32>(static_cast<i64>(streams) * (part + 1) / s.stream_parts);
      for (i32 n = static_cast<i32>(static_cast<i64>(streams) * part / s.stream_parts); n < end;
           ++n) {
        run_stream(n, tile - part * s.q_tiles, kv_begin, kv_end);
      }
    }
  }

 private:
  __device__ __forceinline__ void run_stream(i32 number, i32 tile, i32 kv_begin, i32 keys_end) {
    const Extents& x = params.extents;
    const i32 q_begin = params.schedule.cut.begin(tile);
    const i32 q_end = params.schedule.cut.end(tile, x.query_rows);
    stream = {number / x.query_heads, number % x.query_heads, q_begin, q_end};
    const i32 kv_end = params.lengths.keys(stream.batch, keys_end);
    head = Mods::head(bindings, stream.batch, stream.head);
    const typename Mods::Band band = Mods::band(bindings, head, q_begin, q_end);
    bool loaded = false;
    if constexpr (Variant::kWalksLists) {
      const SpanRange range = params.lists.ranges[list_number()];
      for (i64 n = range.first; n < range.last; ++n) {
        const KeySpan span = params.lists.spans[n];
        run_keys(band, {max(span.kv_begin, kv_begin), min(span.kv_end, kv_end)}, span.full != 0,
                 loaded);
      }
    } else {
      run_keys(band, {kv_begin, kv_end}, !Mods::kHasMaskMod, loaded);
    }
  }

  __device__ __forceinline__ i64 list_number() const {
    const SpanLists& l = params.lists;
    const i64 batch = l.batches == 1 ? 0 : stream.batch;
    const i64 of_head = l.heads == 1 ? 0 : stream.head;
    return (batch * l.heads + of_head) * l.q_blocks + stream.q_begin / l.q_block_rows;
  }

  /// The tiles of `keys`; `full`: every pair is live.
  __device__ __forceinline__ void run_keys(const typename Mods::Band& band, const CaptureTile& keys,
                                           bool full, bool& loaded) {
    const i32 q_rows = stream.q_end - stream.q_begin;
    for (i32 begin = keys.begin; begin < keys.end; begin += kKeyTile) {
      const i32 end = min(begin + kKeyTile, keys.end);
      TileClass found = TileClass::kFull;
      if constexpr (Mods::kHasMaskMod) {
        if (!full) {
          found = Mods::classify(bindings, head, band, {stream.q_begin, stream.q_end, begin, end});
        }
      }
      if (found == TileClass::kEmpty) continue;
      ptx::sync_block();
      if (!loaded) load_rows();
      loaded = true;
      const bool cut = end - begin < kKeyTile || q_rows < kQueryTile;
      run_tile({begin, end}, found == TileClass::kPartial, cut);
    }
  }

  __device__ __forceinline__ CaptureProducts<Variant> products() const {
    return {{params, layout, stream}, warp, lane};
  }

  __device__ __forceinline__ i32 query_of(int slot) const {
    return stream.q_begin + static_cast<i32>(warp) * 16 + static_cast<i32>(lane / 4) + 8 * slot;
  }

  /// What the queries bring: operands, numbers of softmax, values of the mods.
  __device__ __forceinline__ void load_rows() {
    products().load_queries();
    const i64 first = (static_cast<i64>(stream.batch) * params.extents.query_heads + stream.head) *
                      params.stream_rows;
#pragma unroll
    for (int slot = 0; slot < kRowsPerThread; ++slot) {
      const i32 i = query_of(slot);
      const bool exists = i < stream.q_end;
      const i32 tile = params.row_cut.tile_of(i);
      const i64 at = first + tile * params.row_pitch + (i - params.row_cut.begin(tile));
      minus_lse[slot] = exists ? params.minus_lse[at] : ptx::float_of(0xff800000u);
      delta[slot] = exists ? params.delta[at] : 0.0f;
      row[slot] = Mods::row(bindings, head, min(i, stream.q_end - 1));
    }
  }

  __device__ __forceinline__ void run_tile(const CaptureTile& tile, bool partial, bool cut) {
    const i32 kv_begin = tile.begin, kv_end = tile.end;
    Score score, d_modified;
    products().make(tile, score, d_modified);
#pragma unroll kElementsInLine
    for (int e = 0; e < Score::kElements; ++e) {
      const int slot = Score::row_slot(e);
      const i32 j = key_of(kv_begin, e);
      const bool exists = !cut || (j < kv_end && query_of(slot) < stream.q_end);
      float p = 0.0f;
      with_site(kv_begin, kv_end, e, score.value[e], [&](const ScoreSite<Mods>& site) {
        float x = score.value[e] * params.scale_log2;
        if constexpr (Mods::kHasScoreMod) x = Mods::exponent(bindings, site);
        const bool live = exists && (!partial || is_live(site, slot));
        p = live ? ptx::exp2_fast(x + minus_lse[slot]) : 0.0f;
      });
      const float d = p * (d_modified.value[e] - delta[slot]);
      d_modified.value[e] = p == 0.0f ? 0.0f : d;
    }
    add_loads<0>(score, d_modified, kv_begin, kv_end);
  }

  __device__ __forceinline__ i32 key_of(i32 kv_begin, int e) const {
    return kv_begin + static_cast<i32>(lane % 4) * 2 + Score::column_offset(e);
  }

  /// Calls with what the mods see of element e. Keys past the end read what the last one has.
  template <class Use>
  __device__ __forceinline__ void with_site(i32 kv_begin, i32 kv_end, int e, float product,
                                            const Use& use) const {
    const int slot = Score::row_slot(e);
    const i32 i = min(query_of(slot), stream.q_end - 1);
    const i32 j = min(key_of(kv_begin, e), kv_end - 1);
    const typename Mods::Column column = Mods::column(bindings, head, j);
    const typename Mods::Diagonal diagonal = Mods::diagonal(bindings, head, i - j);
    const PairIndex pair = {i, j, j, 0.0f};
    use(ScoreSite<Mods>{product, params.scale, params.scale_log2, 0.0f, head, row[slot], column,
                        diagonal, pair});
  }

  __device__ __forceinline__ bool is_live(const ScoreSite<Mods>& site, int slot) const {
    if constexpr (!Mods::kHasMaskMod) {
      return true;
    } else if constexpr (Mods::kRowIntervals > 0) {
      if constexpr (Mods::kIntervalsMayFail) {
        if (!Mods::intervals_hold(bindings, head, row[slot], site.pair.i)) return by_mask(site);
      }
      bool live = false;
#pragma unroll
      for (int n = 0; n < Mods::kRowIntervals; ++n) {
        const KeyInterval kept = Mods::interval(bindings, head, row[slot], site.pair.i, n);
        live = live || (site.pair.j >= kept.begin && site.pair.j < kept.end);
      }
      return live;
    } else {
      return by_mask(site);
    }
  }

  __device__ __forceinline__ bool by_mask(const ScoreSite<Mods>& site) const {
    return Mods::mask(bindings,
                      MaskSite<Mods>{head, site.row, site.column, site.pair.i, site.pair.j});
  }

  /// Loads kLoad and following.
  template <int kLoad>
  __device__ __forceinline__ void add_loads(const Score& score, const Score& d_modified,
                                            i32 kv_begin, i32 kv_end) {
    if constexpr (kLoad < Captures::kLoads) {
      constexpr CaptureLoad load = Captures::load(kLoad);
      const CaptureTarget& target = params.target[load.target];
      float* const to = target.sums + target.copy_floats * ptx::block_in_grid();
      if constexpr (load.scope == PlaceScope::kPair) {
        add_pairs<kLoad>(score, d_modified, kv_begin, kv_end, to);
      } else {
        write_terms<kLoad>(score, d_modified, kv_begin, kv_end);
        ptx::sync_block();
        add_sums<kLoad>(kv_begin, kv_end, to);
        ptx::sync_block();
      }
      add_loads<kLoad + 1>(score, d_modified, kv_begin, kv_end);
    }
  }

  /// dT dT/d load of element e; 0 where the pair is dead, whatever the derivative is there.
  template <int kLoad>
  __device__ __forceinline__ float term(const ScoreSite<Mods>& site, float d_modified) const {
    const float d = d_modified * Captures::factor(LoadNumber<kLoad>{}, bindings, site);
    return d_modified == 0.0f ? 0.0f : d;
  }

  template <int kLoad>
  __device__ __forceinline__ void write_terms(const Score& score, const Score& d_modified,
                                              i32 kv_begin, i32 kv_end) const {
#pragma unroll kElementsInLine
    for (int e = 0; e < Score::kElements; ++e) {
      with_site(kv_begin, kv_end, e, score.value[e], [&](const ScoreSite<Mods>& site) {
        layout.terms()[term_at(e)] = term<kLoad>(site, d_modified.value[e]);
      });
    }
  }

  __device__ __forceinline__ i32 term_at(int e) const {
    const i32 r = static_cast<i32>(warp) * 16 + static_cast<i32>(lane / 4) + 8 * Score::row_slot(e);
    return r * Layout::kPitch + static_cast<i32>(lane % 4) * 2 + Score::column_offset(e);
  }

  /// One entry a thread.
  template <int kLoad>
  __device__ __forceinline__ void add_sums(i32 kv_begin, i32 kv_end, float* to) const {
    constexpr CaptureLoad load = Captures::load(kLoad);
    constexpr i32 kEntries = load.scope == PlaceScope::kRow        ? kQueryTile
                             : load.scope == PlaceScope::kColumn   ? kKeyTile
                             : load.scope == PlaceScope::kDiagonal ? Layout::kEntries
                                                                   : 1;
    const i32 thread = static_cast<i32>(ptx::thread_in_block());
    const TileEntries<Layout> entries = {layout};
    float sum = 0.0f;
    if constexpr (load.scope == PlaceScope::kHead) {
      // The rows' sums, then their sum.
      if (thread < kQueryTile) layout.sums()[thread] = entries.row_sum(thread);
      ptx::sync_block();
      for (i32 r = 0; thread == 0 && r < kQueryTile; ++r) sum += layout.sums()[r];
      ptx::sync_block();
    } else if (thread < kEntries) {
      sum = load.scope == PlaceScope::kRow      ? entries.row_sum(thread)
            : load.scope == PlaceScope::kColumn ? entries.column_sum(thread)
                                                : entries.diagonal_sum(thread);
    }
    i64 place = -1;
    if (thread < kEntries && entry_exists(load.scope, thread, kv_begin, kv_end)) {
      const i32 at = load.scope == PlaceScope::kRow ? stream.q_begin + thread
                     : load.scope == PlaceScope::kColumn
                         ? kv_begin + thread
                         : stream.q_begin - kv_begin + thread - (kKeyTile - 1);
      place = Captures::place(LoadNumber<kLoad>{}, bindings, head, {stream.batch, stream.head}, at);
    }
    add_entries(layout, to, place, sum, load.distinct || kEntries == 1);
  }

  __device__ __forceinline__ bool entry_exists(PlaceScope scope, i32 entry, i32 kv_begin,
                                               i32 kv_end) const {
    const i32 rows = stream.q_end - stream.q_begin;
    const i32 keys = kv_end - kv_begin;
    if (scope == PlaceScope::kRow) return entry < rows;
    if (scope == PlaceScope::kColumn) return entry < keys;
    if (scope == PlaceScope::kHead) return true;
    const i32 diagonal = entry - (kKeyTile - 1);
    return diagonal < rows && diagonal > -keys;
  }

  template <int kLoad>
  __device__ __forceinline__ void add_pairs(const Score& score, const Score& d_modified,
                                            i32 kv_begin, i32 kv_end, float* to) const {
    constexpr bool kDistinct = Captures::load(kLoad).distinct;
#pragma unroll kElementsInLine
    for (int e = 0; e < Score::kElements; ++e) {
      with_site(kv_begin, kv_end, e, score.value[e], [&](const ScoreSite<Mods>& site) {
        const float d = term<kLoad>(site, d_modified.value[e]);
        i64 place = -1;
        if (d != 0.0f)
          place = Captures::place(LoadNumber<kLoad>{}, bindings, site, {stream.batch, stream.head});
        if constexpr (!kDistinct && Variant::kOrderedPairs) {
          layout.terms()[term_at(e)] = d;
          layout.pair_places()[term_at(e)] = static_cast<i32>(place);
        } else if constexpr (kDistinct) {
          if (place >= 0) to[place] += d;
        } else {
          if (place >= 0) ptx::add_in_memory(to + place, d);
        }
      });
    }
    if constexpr (!kDistinct && Variant::kOrderedPairs) {
      ptx::sync_block();
      add_pairs_in_order(layout, to);
      ptx::sync_block();
    }
  }
};

}  // namespace tilewright::cuda
