// Shared memory of a backward block, and the numbers that follow from a variant.
//
// A variant is a struct with: Element (Bf16 or F16), kHeadDim, kValueDim (multiples of 8, at most
// 256), kQueryTile (64 or 128), kSplitsKeys, kQueryStages, kGradStages (powers of two),
// kDeterministic, kWalksLists (span lists say which query tiles see which keys), kReadsLengths.
//
// Two consumer warpgroups divide a tile in one of two ways.
//   kSplitsKeys   each has 64 of 128 keys: P and dS stay in its registers as operands of dV and dK,
//                 whose 64 rows it holds whole; dS also goes to shared memory, for dQ.
//   otherwise     64 keys; each makes P and dS of half the queries, both go to shared memory, and
//                 each holds half the columns of dV and dK. For head dims whose dV and dK rows do
//                 not fit one warpgroup's registers.
// dQ is divided by its rows where the query tile has 128, else by its columns.
#pragma once

#include "attention/backward_item.cuh"
#include "attention/key_words.cuh"
#include "pipeline/ring.cuh"
#include "tile/accumulator.cuh"
#include "tile/shared_tile.cuh"

namespace tilewright::cuda {

/// How many query tiles a consumer has seen: one number instead of a position for each ring that
/// advances with it.
struct StepCount {
  u32 steps = 0;

  template <int kStages>
  __device__ __forceinline__ RingPosition<kStages> in_ring() const {
    static_assert((kStages & (kStages - 1)) == 0);
    return {steps % kStages, steps / kStages % 2};
  }
};

/// What the producer tells the consumers about the query tile in a stage.
struct alignas(16) QueryNote {
  static constexpr u32 kPartial = 1, kFirst = 2, kLast = 4, kNewStream = 8, kNothing = 16,
                       kEndsStream = 32;
  static constexpr u32 kOwnTurnAt = 8;
  i32 q_begin;  ///< in variants that walk lists: if all tiles before were whole
  i32 stream;   ///< batch * Hq + head
  u32 flags;    ///< and, from bit kOwnTurnAt, what the tile's turn words say after this item
  u32 turn;     ///< what they say when it is this item's turn to add

  __device__ __forceinline__ bool partial() const { return flags & kPartial; }
  __device__ __forceinline__ bool first() const { return flags & kFirst; }
  __device__ __forceinline__ bool last() const { return flags & kLast; }
  __device__ __forceinline__ bool new_stream() const { return flags & kNewStream; }
  /// The item sees no query at all; the stage holds nothing.
  __device__ __forceinline__ bool nothing() const { return flags & kNothing; }
  __device__ __forceinline__ bool ends_stream() const { return flags & kEndsStream; }
  __device__ __forceinline__ u32 own_turn() const { return flags >> kOwnTurnAt; }
};

/// More of the query tile in a stage, in variants that walk lists or read key lengths.
struct alignas(16) TileKeys {
  KeyWords words;
  i32 q_begin;
};

/// How a dimension of kColumns is divided between the warpgroups: whole chunks of 64 columns.
template <int kColumns>
struct ColumnHalves {
  static constexpr int kChunks = (kColumns + kChunkColumns - 1) / kChunkColumns;
  static constexpr int kOwnChunks = (kChunks + 1) / 2;
  static constexpr int kOwnColumns = kChunks == 1 ? kColumns : kOwnChunks * kChunkColumns;
};

template <class Variant>
struct BackwardLayout {
  static constexpr int kWarpgroups = 2;
  static constexpr int kThreads = 128 * (kWarpgroups + 1);
  static constexpr u32 kConsumerThreads = 128 * kWarpgroups;
  static constexpr u32 kConsumerWarps = 4 * kWarpgroups;
  static constexpr bool kSplitsKeys = Variant::kSplitsKeys;
  static constexpr int kQueryTile = Variant::kQueryTile;
  static constexpr int kKeyTile = kSplitsKeys ? 128 : 64;
  static constexpr int kQueryStages = Variant::kQueryStages;
  static constexpr int kGradStages = Variant::kGradStages;
  static constexpr int kItemSlots = 2;
  /// Tiles of dS (and P) in shared memory. Where dQ is made one step late a warpgroup writes those
  /// of step n when the other has at least written those of step n - 2, so has done with the reads
  /// of step n - 3, which were of step n - 4. Else it writes while the other may still read those
  /// of the step before.
  static constexpr int kSides = kSplitsKeys ? 4 : 2;
  static constexpr bool kOrdered = Variant::kDeterministic;
  /// The order of additions to dQ where there is one: by keys, which descend.
  static constexpr bool kDescends = kOrdered;
  /// Notes outlive their stages: dQ of a step is added in the next, and its turn passed on in one
  /// of those that follow (query_turns.cuh).
  static constexpr int kNotes = 4 * kQueryStages;
  /// Steps whose turns are between being awaited and having been passed on.
  static constexpr int kTurnSlots = kNotes;
  /// Words say which keys the queries of a tile see.
  static constexpr bool kSeesKeyWords = Variant::kWalksLists || Variant::kReadsLengths;

  static constexpr bool kSumsByRows = kQueryTile == 128;
  using KeyHalves = ColumnHalves<Variant::kHeadDim>;
  using ValueHalves = ColumnHalves<Variant::kValueDim>;
  /// Columns of a warpgroup's fragments: queries of S^T and dP^T, then dK, dV, dQ.
  static constexpr int kScoreColumns = kSplitsKeys ? kQueryTile : kQueryTile / 2;
  /// What a step waits for and reads is awaited and read while products run, ahead of its use.
  /// Measured: with 128 queries 3.6 % faster, with 64 as much slower.
  static constexpr bool kReadsAhead = kSplitsKeys && kQueryTile == 128;
  static constexpr int kNumbersAhead = kReadsAhead ? 8 : 1;
  static constexpr int kKeyColumns = kSplitsKeys ? Variant::kHeadDim : KeyHalves::kOwnColumns;
  static constexpr int kValueColumns = kSplitsKeys ? Variant::kValueDim : ValueHalves::kOwnColumns;
  static constexpr int kSumColumns = kSumsByRows ? Variant::kHeadDim : KeyHalves::kOwnColumns;
  /// fp32 values of a tile's dQ, dK and dV in the order of fragments: two fragments of 64 rows.
  static constexpr int kSumFloats = 2 * 64 * kSumColumns;
  static constexpr int kKeySumFloats = 2 * 64 * kKeyColumns;
  static constexpr int kValueSumFloats = 2 * 64 * kValueColumns;

  using QueryTile = SharedTile<kQueryTile, Variant::kHeadDim>;
  using GradTile = SharedTile<kQueryTile, Variant::kValueDim>;
  using KeyTile = SharedTile<kKeyTile, Variant::kHeadDim>;
  using ValueTile = SharedTile<kKeyTile, Variant::kValueDim>;
  /// P^T or dS^T: keys by queries.
  using ScoreTile = SharedTile<kKeyTile, kQueryTile>;
  static constexpr int kRowBytes = kQueryTile * 4;  ///< of minus_lse, of delta

  static constexpr int kKeyAt = 0;
  static constexpr int kValueAt = kKeyAt + KeyTile::kBytes;
  static constexpr int kQueryAt = kValueAt + ValueTile::kBytes;
  static constexpr int kGradAt = kQueryAt + kQueryStages * QueryTile::kBytes;
  static constexpr int kDScoreAt = kGradAt + kGradStages * GradTile::kBytes;
  static constexpr int kProbabilityAt = kDScoreAt + kSides * ScoreTile::kBytes;
  static constexpr int kMinusLseAt =
      kProbabilityAt + (kSplitsKeys ? 0 : kSides * ScoreTile::kBytes);
  static constexpr int kDeltaAt = kMinusLseAt + kQueryStages * kRowBytes;
  static constexpr int kItemsAt = kDeltaAt + kGradStages * kRowBytes;
  static constexpr int kNotesAt = kItemsAt + kItemSlots * static_cast<int>(sizeof(BackwardItem));
  static constexpr int kTileKeysAt = kNotesAt + kNotes * static_cast<int>(sizeof(QueryNote));
  static constexpr int kKeyBarriersAt =
      kTileKeysAt + (kSeesKeyWords ? kQueryStages * static_cast<int>(sizeof(TileKeys)) : 0);
  static constexpr int kValueBarriersAt = kKeyBarriersAt + RingBarriers<1>::kBytes;
  static constexpr int kQueryBarriersAt = kValueBarriersAt + RingBarriers<1>::kBytes;
  static constexpr int kGradBarriersAt = kQueryBarriersAt + RingBarriers<kQueryStages>::kBytes;
  static constexpr int kItemBarriersAt = kGradBarriersAt + RingBarriers<kGradStages>::kBytes;
  static constexpr int kDScoreBarriersAt = kItemBarriersAt + RingBarriers<kItemSlots>::kBytes;
  static constexpr int kTurnBarriersAt = kDScoreBarriersAt + kSides * 8;
  /// Dynamic shared memory of a block. The window starts 1024-byte aligned, which the swizzle
  /// needs.
  static constexpr int kBytes = kTurnBarriersAt + 3 * kTurnSlots * kWarpgroups * 8;

  static_assert(kQueryTile == 64 || kQueryTile == 128);
  static_assert(Variant::kHeadDim % 8 == 0 && Variant::kHeadDim <= 256);
  static_assert(Variant::kValueDim % 8 == 0 && Variant::kValueDim <= 256);
  static_assert(!kSumsByRows || Variant::kHeadDim <= 64);
  static_assert(kBytes <= 227 * 1024);

  /// Registers a thread after the roles have split: of the 504 that a thread of each role has
  /// together.
  static constexpr u32 kConsumerRegisters = 240;
  static constexpr u32 kProducerRegisters = 24;

  /// Where a warpgroup's part of a tile's keys and queries begins.
  static __device__ __forceinline__ i32 first_key_row(u32 warpgroup) {
    return kSplitsKeys ? static_cast<i32>(warpgroup) * 64 : 0;
  }
  static __device__ __forceinline__ i32 first_query(u32 warpgroup) {
    return kSplitsKeys ? 0 : static_cast<i32>(warpgroup) * kScoreColumns;
  }

  /// The number of a note's query tile among those of all streams.
  static __device__ __forceinline__ i64 query_tile_of(const QueryNote& note, i32 q_tiles) {
    return static_cast<i64>(note.stream) * q_tiles + note.q_begin / kQueryTile;
  }

  unsigned char* memory;

  __device__ __forceinline__ ptx::SharedAddress at(u32 offset_bytes) const {
    return ptx::shared_address(memory) + offset_bytes;
  }
  __device__ __forceinline__ ptx::SharedAddress key() const { return at(kKeyAt); }
  __device__ __forceinline__ ptx::SharedAddress value() const { return at(kValueAt); }
  __device__ __forceinline__ ptx::SharedAddress query(u32 stage) const {
    return at(kQueryAt + stage * QueryTile::kBytes);
  }
  __device__ __forceinline__ ptx::SharedAddress d_out(u32 stage) const {
    return at(kGradAt + stage * GradTile::kBytes);
  }
  __device__ __forceinline__ ptx::SharedAddress d_score(u32 side) const {
    return at(kDScoreAt + side * ScoreTile::kBytes);
  }
  __device__ __forceinline__ ptx::SharedAddress probability(u32 side) const {
    return at(kProbabilityAt + side * ScoreTile::kBytes);
  }
  __device__ __forceinline__ ptx::SharedAddress minus_lse(u32 stage) const {
    return at(kMinusLseAt + stage * kRowBytes);
  }
  __device__ __forceinline__ ptx::SharedAddress delta(u32 stage) const {
    return at(kDeltaAt + stage * kRowBytes);
  }
  __device__ __forceinline__ BackwardItem& item(u32 slot) const {
    return reinterpret_cast<BackwardItem*>(memory + kItemsAt)[slot];
  }
  /// Of a step, whose number modulo kNotes this is.
  __device__ __forceinline__ QueryNote& note(u32 slot) const {
    return reinterpret_cast<QueryNote*>(memory + kNotesAt)[slot];
  }
  __device__ __forceinline__ TileKeys& tile_keys(u32 stage) const {
    return reinterpret_cast<TileKeys*>(memory + kTileKeysAt)[stage];
  }
  __device__ __forceinline__ RingBarriers<1> key_ring() const { return {at(kKeyBarriersAt)}; }
  __device__ __forceinline__ RingBarriers<1> value_ring() const { return {at(kValueBarriersAt)}; }
  __device__ __forceinline__ RingBarriers<kQueryStages> query_ring() const {
    return {at(kQueryBarriersAt)};
  }
  __device__ __forceinline__ RingBarriers<kGradStages> grad_ring() const {
    return {at(kGradBarriersAt)};
  }
  __device__ __forceinline__ RingBarriers<kItemSlots> item_ring() const {
    return {at(kItemBarriersAt)};
  }
  /// Completes when both warpgroups have stored their dS of a step.
  __device__ __forceinline__ ptx::Mbarrier d_score_full(u32 side) const {
    return {at(kDScoreBarriersAt + side * 8)};
  }
  /// Where additions are ordered: warpgroup w may add a step's dQ, has added it, has passed the
  /// turn on.
  __device__ __forceinline__ ptx::Mbarrier turn_come(u32 warpgroup, u32 slot) const {
    return turn_barrier(0, warpgroup, slot);
  }
  __device__ __forceinline__ ptx::Mbarrier turn_used(u32 warpgroup, u32 slot) const {
    return turn_barrier(1, warpgroup, slot);
  }
  __device__ __forceinline__ ptx::Mbarrier turn_passed(u32 warpgroup, u32 slot) const {
    return turn_barrier(2, warpgroup, slot);
  }

  __device__ __forceinline__ void init_barriers() const {
    key_ring().init(1, kConsumerWarps);
    value_ring().init(1, kConsumerWarps);
    query_ring().init(1, kConsumerWarps + (kOrdered ? 1 : 0));
    grad_ring().init(1, kConsumerWarps);
    item_ring().init(1, kConsumerWarps);
    for (u32 side = 0; side < kSides; ++side) ptx::init(d_score_full(side), kConsumerWarps);
    if constexpr (kOrdered) init_turn_barriers();
    ptx::fence_barrier_init();
  }

 private:
  __device__ __forceinline__ ptx::Mbarrier turn_barrier(u32 kind, u32 warpgroup, u32 slot) const {
    return {at(kTurnBarriersAt + ((kind * kWarpgroups + warpgroup) * kTurnSlots + slot) * 8)};
  }

  __device__ __forceinline__ void init_turn_barriers() const {
    for (u32 n = 0; n < kWarpgroups * kTurnSlots; ++n) {
      ptx::init(turn_come(0, n), 1);
      ptx::init(turn_used(0, n), kConsumerWarps / kWarpgroups);
      ptx::init(turn_passed(0, n), 1);
    }
  }
};

}  // namespace tilewright::cuda
