#pragma once

#include <cstdint>
#include <string>

#include "backends/contract/backend.h"
#include "backends/cuda/device/workspace.h"
#include "backends/cuda/kernel_row.h"
#include "backends/cuda/launch/forward_params.h"

namespace tilewright::cuda {

/// Where and with what one launch happens; the context is current.
struct LaunchSite {
  const backends::Launch& launch;
  const KernelRow& row;
  Gpu& gpu;
  Workspace& workspace;
  DeviceAddress error = 0;       ///< the ErrorRecord; 0 outside checked mode
  params::SpanLists lists = {};  ///< of a row that walks them

  StreamHandle stream() const noexcept { return static_cast<StreamHandle>(launch.stream); }
};

/// Blocks of a launch; none at all where there is nothing to compute.
struct Grid {
  unsigned x = 0;
  unsigned y = 1;
};

inline DeviceAddress address_of(const TensorView& tensor) noexcept {
  return reinterpret_cast<DeviceAddress>(tensor.data);
}

/// Stride of an axis, 0 where it is never stepped along.
inline std::int64_t stride_of(const TensorView& tensor, std::size_t axis) noexcept {
  return tensor.shape[axis] > 1 ? tensor.strides[axis] : 0;
}

/// How query rows are cut into items.
struct RowCut {
  std::int64_t q_tiles = 0;
  std::int64_t item_rows = 0;
  std::int64_t block_tiles = 1;  ///< with lists: of each block
};
/// Of `rows` rows a head; with lists an item lies in one of their blocks, whose items are of one
/// size as far as units of 16 rows allow.
RowCut cut_rows(const LaunchSite& site, std::int64_t rows);

/// "B 2, Bkv 2, Hq 8, Hkv 8, Q 128, KV 128, E 64, Ev 64, bf16"
std::string text_of(const Problem& problem);

/// Lengths, and batch times query heads, lie below; above is room for a tile and the arithmetic
/// around it.
inline constexpr std::int64_t kPositionLimit = (std::int64_t{1} << 31) - (std::int64_t{1} << 18);

/// Throws Error{kUnsupported} for lengths past 32-bit coordinates, and for lse and max_scores whose
/// strides differ: kernels read one set.
void check_extents(const Problem& problem);
void check_statistics(const ForwardOutputs& outputs);

/// lse's strides, or those of max_scores where only that is wanted; null where neither is.
const TensorView* statistic_of(const ForwardOutputs& outputs) noexcept;

}  // namespace tilewright::cuda
