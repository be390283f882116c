// Shared memory of a portable backward block, and the numbers that follow from a variant.
//
// A variant is a struct with
//   Element            Bf16, F16, F32 (full fp32 accuracy) or Tf32 (fp32 in memory)
//   kHeadTile          E rounded up to a multiple of 16 * kColumnWarps and of what kSumStrips asks
//   kValueTile         Ev rounded up to a multiple of 16 * kColumnWarps
//   kKeyWarps          warps along the keys, kStrips (1 or 2) strips of 16 keys each
//   kColumnWarps       warps that share 16 kStrips keys: each makes P and dS of its share of the
//                      queries, and dK and dV of its share of the columns
//   kQueryTile         queries of a tile, a multiple of 16 * kColumnWarps, 128 at most
//   kChunk             queries for which a warp makes P and dS at a time, a multiple of 16
//   kSumStrips         dQ of a tile is divided into parts of 16 kSumStrips rows; what warps are
//   left
//                      divide its columns, 16 at least
//   kQueryStages, kGradStages   2: the next tile is copied while one is worked on; 1: behind its
//                      last use, under dQ
//   kCopyBytes         as in portable_layout.cuh
//   kDeterministic     additions to dQ in ascending order of keys
//   kWantsQuery, kWantsKey, kWantsValue   which gradients; the others cost nothing (a wanted one
//   that
//                      the call leaves out is computed in part and not stored)
#pragma once

#include "attention/gradient_cells.cuh"
#include "attention/portable_backward_params.cuh"
#include "tile/accumulator.cuh"
#include "tile/row_tile.cuh"

namespace tilewright::cuda {

/// A query tile of an item, some of whose pairs with the item's keys may be live. With lists a tile
/// comes once for each span that reaches into the keys.
struct alignas(16) QueryVisit {
  /// kMasked: some pairs are dead; kByMask: mask_mod says which, else bounds alone. kWaits,
  /// kPasses: the first and the last visit of the item to the tile. kNewStream: the first of a
  /// stream.
  static constexpr u32 kMasked = 1, kByMask = 2, kWaits = 4, kPasses = 8, kNewStream = 16;
  i32 tile;
  i32 stream;  ///< batch * Hq + head
  u32 flags;   ///< and the keys [kv_first, kv_last) of the item that the visit is about
  u32 turn;    ///< what the tile's turn word says when it is this item's turn to add

  static __device__ __forceinline__ u32 keys(i32 first, i32 last) {
    return static_cast<u32>(first) << 8 | static_cast<u32>(last) << 20;
  }
  __device__ __forceinline__ i32 kv_first() const { return static_cast<i32>(flags >> 8 & 0xfff); }
  __device__ __forceinline__ i32 kv_last() const { return static_cast<i32>(flags >> 20); }
  __device__ __forceinline__ bool has(u32 flag) const { return (flags & flag) != 0; }
};

/// Where the search for query tiles stands between two fills of the page.
struct alignas(16) VisitSearch {
  i32 visits;    ///< on the page
  i32 finished;  ///< nonzero: no tile is left after the page
  i32 stream;    ///< the next or present one, counted as the item does
  i32 next_block;
  u32 live_groups;
  i32 group;   ///< lists: the group under way, -1 if none
  i32 round;   ///< lists: spans of its tiles that are on the page
  i32 opened;  ///< nonzero: the stream has had a visit
};

template <class Variant>
struct PortableBackwardLayout {
  using Element = typename Variant::Element;
  static constexpr int kColumnWarps = Variant::kColumnWarps;
  static constexpr int kWarps = Variant::kKeyWarps * kColumnWarps;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kWarpKeys = 16 * Variant::kStrips;
  static constexpr int kKeyTile = kWarpKeys * Variant::kKeyWarps;
  static constexpr int kQueryTile = Variant::kQueryTile;
  static constexpr int kQueryStages = Variant::kQueryStages;
  static constexpr int kGradStages = Variant::kGradStages;
  /// Queries of which a warp makes P and dS.
  static constexpr int kOwnQueries = kQueryTile / kColumnWarps;
  static constexpr int kChunk = Variant::kChunk;
  /// Columns of dK and dV that a warp holds.
  static constexpr int kKeyColumns = Variant::kHeadTile / kColumnWarps;
  static constexpr int kValueColumns = Variant::kValueTile / kColumnWarps;
  static constexpr int kSumRowWarps = kQueryTile / (16 * Variant::kSumStrips);
  static constexpr int kSumColumns = Variant::kHeadTile / (kWarps / kSumRowWarps);
  /// Of these, the columns whose products a warp holds at a time.
  static constexpr int kSumPass = kSumColumns <= 64       ? kSumColumns
                                  : kSumColumns % 64 == 0 ? 64
                                  : kSumColumns % 48 == 0 ? 48
                                  : kSumColumns % 32 == 0 ? 32
                                                          : 16;
  /// Visits that are found ahead; a step of the search needs room for 32. One more is kept from the
  /// page before.
  static constexpr int kPageVisits = 64;

  using QueryTile = RowTile<Element, kQueryTile, Variant::kHeadTile>;
  using GradTile = RowTile<Element, kQueryTile, Variant::kValueTile>;
  using KeyTile = RowTile<Element, kKeyTile, Variant::kHeadTile>;
  using ValueTile = RowTile<Element, kKeyTile, Variant::kValueTile>;
  /// dS^T: keys by queries.
  using ScoreTile = RowTile<Element, kKeyTile, kQueryTile>;
  static constexpr int kRowBytes = kQueryTile * 4;  ///< of minus_lse, of delta
  /// A chunk of P^T as another warp's operand: a word a lane, four words a step.
  static constexpr int kOperandBytes = kWarpKeys * kChunk * ScoreTile::kElement;
  static constexpr int kProbabilityBytes =
      kColumnWarps == 1 ? 0 : kKeyTile * kQueryTile * ScoreTile::kElement;

  static constexpr int kKeyAt = 0;
  static constexpr int kValueAt = kKeyAt + KeyTile::kBytes;
  static constexpr int kQueryAt = kValueAt + ValueTile::kBytes;
  static constexpr int kGradAt = kQueryAt + kQueryStages * QueryTile::kBytes;
  static constexpr int kDScoreAt = kGradAt + kGradStages * GradTile::kBytes;
  static constexpr int kProbabilityAt = kDScoreAt + ScoreTile::kBytes;
  static constexpr int kMinusLseAt = kProbabilityAt + kProbabilityBytes;
  static constexpr int kDeltaAt = kMinusLseAt + kQueryStages * kRowBytes;
  static constexpr int kPageAt = kDeltaAt + kGradStages * kRowBytes;
  static constexpr int kSearchAt =
      kPageAt + (kPageVisits + 1) * static_cast<int>(sizeof(QueryVisit));
  static constexpr int kItemAt = kSearchAt + static_cast<int>(sizeof(VisitSearch));
  /// Dynamic shared memory of a block.
  static constexpr int kBytes = kItemAt + static_cast<int>(sizeof(BackwardItem));

  static_assert(Variant::kStrips == 1 || Variant::kStrips == 2);
  static_assert(kOwnQueries % kChunk == 0 && kChunk % 16 == 0 && kQueryTile <= 128);
  static_assert(Variant::kHeadTile == KeyTile::kColumns && kKeyColumns % 16 == 0);
  static_assert(Variant::kValueTile == ValueTile::kColumns && kValueColumns % 16 == 0);
  static_assert(kWarps % kSumRowWarps == 0 && kSumColumns % 16 == 0);
  static_assert(kKeyTile < 4096 && kBytes <= 227 * 1024);

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
  __device__ __forceinline__ ptx::SharedAddress d_score() const { return at(kDScoreAt); }
  __device__ __forceinline__ ptx::SharedAddress probability() const { return at(kProbabilityAt); }
  __device__ __forceinline__ ptx::SharedAddress minus_lse(u32 stage) const {
    return at(kMinusLseAt + stage * kRowBytes);
  }
  __device__ __forceinline__ ptx::SharedAddress delta(u32 stage) const {
    return at(kDeltaAt + stage * kRowBytes);
  }
  __device__ __forceinline__ QueryVisit* page() const {
    return reinterpret_cast<QueryVisit*>(memory + kPageAt);
  }
  __device__ __forceinline__ VisitSearch& search() const {
    return *reinterpret_cast<VisitSearch*>(memory + kSearchAt);
  }
  __device__ __forceinline__ BackwardItem& item() const {
    return *reinterpret_cast<BackwardItem*>(memory + kItemAt);
  }
};

}  // namespace tilewright::cuda
