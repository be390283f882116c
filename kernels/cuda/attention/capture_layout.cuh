// Shared memory of a block of the kernel of captured gradients.
//
// A variant is a struct with
//   Element         Bf16, F16 or F32
//   kHeadDim, kValueDim
//   kQueryTile      64 or 128
//   kSlabColumns    0: operands lie in shared memory whole; else so many of their columns at a time
//   kCopyBytes      as in portable_layout.cuh
//   kWalksLists     key tiles come from span lists
//   kOrderedPairs   pairs that may meet at an element are added in a fixed order
#pragma once

#include "attention/capture_params.cuh"
#include "tile/accumulator.cuh"
#include "tile/row_tile.cuh"

namespace tilewright::cuda {

template <class Variant>
struct CaptureLayout {
  using Element = typename Variant::Element;
  static constexpr int kQueryTile = Variant::kQueryTile;
  static constexpr int kKeyTile = 64;
  static constexpr int kWarps = kQueryTile / 16;
  static constexpr int kThreads = 32 * kWarps;
  /// Diagonals of a tile, and so the most elements that a tile's sums go to.
  static constexpr int kEntries = kQueryTile + kKeyTile - 1;
  static_assert(kEntries <= kThreads);
  /// Words of a row of terms: rows, columns and diagonals lie in different banks.
  static constexpr int kPitch = kKeyTile + 1;

  static constexpr bool kInSlabs = Variant::kSlabColumns != 0;
  static constexpr int kHeadColumns = kInSlabs ? Variant::kSlabColumns : Variant::kHeadDim;
  static constexpr int kValueColumns = kInSlabs ? Variant::kSlabColumns : Variant::kValueDim;
  using QueryTile = RowTile<Element, kQueryTile, kHeadColumns>;
  using GradTile = RowTile<Element, kQueryTile, kValueColumns>;
  using KeyTile = RowTile<Element, kKeyTile, kHeadColumns>;
  using ValueTile = RowTile<Element, kKeyTile, kValueColumns>;

  /// Slabs of query and dO, and of key and value, take turns in one place.
  static constexpr int kQueryAt = 0;
  static constexpr int kGradAt = kInSlabs ? kQueryAt : kQueryAt + QueryTile::kBytes;
  static constexpr int kKeyAt = kGradAt + GradTile::kBytes;
  static constexpr int kValueAt = kInSlabs ? kKeyAt : kKeyAt + KeyTile::kBytes;
  static constexpr int kTermsAt = kValueAt + ValueTile::kBytes;
  static constexpr int kPlacesAt = kTermsAt + kQueryTile * kPitch * 4;
  static constexpr int kSumsAt = kPlacesAt + kThreads * 8;
  static constexpr int kPairPlacesAt = kSumsAt + kThreads * 4;
  /// Dynamic shared memory of a block.
  static constexpr int kBytes =
      kPairPlacesAt + (Variant::kOrderedPairs ? kQueryTile * kPitch * 4 : 0);
  static_assert(kBytes <= 227 * 1024);

  unsigned char* memory;

  __device__ __forceinline__ ptx::SharedAddress at(u32 offset_bytes) const {
    return ptx::shared_address(memory) + offset_bytes;
  }
  /// Terms of a tile, [kQueryTile][kPitch].
  __device__ __forceinline__ float* terms() const {
    return reinterpret_cast<float*>(memory + kTermsAt);
  }
  /// Elements that a tile's sums go to, and these sums; [kThreads].
  __device__ __forceinline__ i64* places() const {
    return reinterpret_cast<i64*>(memory + kPlacesAt);
  }
  __device__ __forceinline__ float* sums() const {
    return reinterpret_cast<float*>(memory + kSumsAt);
  }
  /// The element of each pair, [kQueryTile][kPitch]; ordered variants only.
  __device__ __forceinline__ i32* pair_places() const {
    return reinterpret_cast<i32*>(memory + kPairPlacesAt);
  }
};

}  // namespace tilewright::cuda
