// Shared memory of a portable forward block, and the numbers that follow from a variant.
//
// A variant is a struct with
//   Element            Bf16, F16, F32 (full fp32 accuracy) or Tf32 (fp32 in memory)
//   kHeadTile          E rounded up to a multiple of 16 (fp32: 8); 512 at most
//   kValueTile         columns of Ev that a block computes, a multiple of 16 (fp32: 8), 256 at most
//   kWarps, kStrips    a warp owns kStrips (1 or 2) strips of 16 query rows
//   kKeyTile           keys of a tile, a multiple of 16, 256 at most
//   kStages            2: the next tile is copied while one is worked on; 1: half the memory, the
//                      copies hide behind one product only
//   kCopyBytes         16: strides of 16 bytes and column stride 1; 4: fp32 of any strides, or
//                      16-bit of even strides and column stride 1, bases multiples of 4 bytes;
//                      2: 16-bit of any strides
//   kPacksGroup        rows of a tile come from all query heads of a group
//   kWalksLists        key tiles come from span lists, not from the mask; never with kPacksGroup
//   kPartialOut        out is fp32
//   kTriesReference    full tiles first try the reference that is there (two stages only)
//   kHoldsQuery        query fragments stay in registers
//   kTracksMaximum, kScalesFirst, kPolynomialPeriod   as in forward_layout.cuh
#pragma once

#include "attention/portable_params.cuh"
#include "tile/accumulator.cuh"
#include "tile/row_tile.cuh"

namespace tilewright::cuda {

/// A key tile of an item, some of whose pairs may be live.
struct KeyTileNote {
  static constexpr u32 kPartial = 1u << 16;
  i32 kv_begin;
  u32 keys_and_class;  ///< keys inside the item or span, at most kKeyTile; kPartial

  __device__ __forceinline__ i32 keys() const {
    return static_cast<i32>(keys_and_class & (kPartial - 1));
  }
  __device__ __forceinline__ bool partial() const { return keys_and_class >= kPartial; }
};

/// Where the search for key tiles stands between two fills of the page.
struct TileSearch {
  i32 notes;     ///< on the page
  i32 finished;  ///< nonzero: no tile is left after the page
  i32 next_block;
  u32 live_groups;
  i32 spans_left;  ///< lists: spans of the item's list that no tile was taken of
  i32 span_tiles;  ///< lists: tiles of the span behind those that are left
  i32 reserved[2];
};

/// Where the keys or values of the item's head begin. Kept in shared memory, like the item: both
/// are needed once a tile, and registers are short.
struct TileSource {
  const unsigned char* first;
  i64 row_bytes;
  i64 column_bytes;
  i32 columns;  ///< that exist, from the block's first one on
  i32 reserved;
};

template <class Variant>
struct PortableLayout {
  using Element = typename Variant::Element;
  static constexpr int kThreads = 32 * Variant::kWarps;
  static constexpr int kWarpRows = 16 * Variant::kStrips;
  static constexpr int kQueryTile = kWarpRows * Variant::kWarps;
  static constexpr int kKeyTile = Variant::kKeyTile;
  static constexpr int kStages = Variant::kStages;
  /// Notes that are found ahead; a fill needs room for 32.
  static constexpr int kPageNotes = 128;

  using QueryTile = RowTile<Element, kQueryTile, Variant::kHeadTile>;
  using KeyTile = RowTile<Element, kKeyTile, Variant::kHeadTile>;
  using ValueTile = RowTile<Element, kKeyTile, Variant::kValueTile>;

  static constexpr int kQueryAt = 0;
  static constexpr int kKeyAt = kQueryAt + QueryTile::kBytes;
  static constexpr int kValueAt = kKeyAt + kStages * KeyTile::kBytes;
  static constexpr int kPageAt = kValueAt + kStages * ValueTile::kBytes;
  static constexpr int kSearchAt = kPageAt + kPageNotes * static_cast<int>(sizeof(KeyTileNote));
  static constexpr int kItemAt = kSearchAt + static_cast<int>(sizeof(TileSearch));
  static constexpr int kSourcesAt = kItemAt + static_cast<int>(sizeof(WorkItem));
  /// Dynamic shared memory of a block.
  static constexpr int kBytes = kSourcesAt + 2 * static_cast<int>(sizeof(TileSource));

  static_assert(Variant::kKeyTile % 16 == 0 && Variant::kKeyTile <= 256);
  static_assert(Variant::kValueTile == ValueTile::kColumns);
  static_assert(Variant::kHeadTile == KeyTile::kColumns);
  static_assert(Variant::kCopyBytes == 16 || Variant::kCopyBytes == 4 ||
                (Variant::kCopyBytes == 2 && kElementBytes<Element> == 2));
  static_assert(!(Variant::kWalksLists && Variant::kPacksGroup));
  static_assert(kBytes <= 227 * 1024);

  unsigned char* memory;

  __device__ __forceinline__ ptx::SharedAddress at(u32 offset_bytes) const {
    return ptx::shared_address(memory) + offset_bytes;
  }
  __device__ __forceinline__ ptx::SharedAddress query() const { return at(kQueryAt); }
  __device__ __forceinline__ ptx::SharedAddress key(u32 stage) const {
    return at(kKeyAt + stage * KeyTile::kBytes);
  }
  __device__ __forceinline__ ptx::SharedAddress value(u32 stage) const {
    return at(kValueAt + stage * ValueTile::kBytes);
  }
  __device__ __forceinline__ KeyTileNote* page() const {
    return reinterpret_cast<KeyTileNote*>(memory + kPageAt);
  }
  __device__ __forceinline__ WorkItem& item() const {
    return *reinterpret_cast<WorkItem*>(memory + kItemAt);
  }
  __device__ __forceinline__ TileSource& key_source() const {
    return *reinterpret_cast<TileSource*>(memory + kSourcesAt);
  }
  __device__ __forceinline__ TileSource& value_source() const {
    return *reinterpret_cast<TileSource*>(memory + kSourcesAt + sizeof(TileSource));
  }
  __device__ __forceinline__ TileSearch& search() const {
    return *reinterpret_cast<TileSearch*>(memory + kSearchAt);
  }
};

}  // namespace tilewright::cuda
