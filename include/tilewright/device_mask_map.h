#pragma once

#include <cstddef>
#include <cstdint>

#include "tilewright/program.h"
#include "tilewright/tensor.h"

#pragma GCC visibility push(default)

namespace tilewright {

/// What a DeviceMaskMap is made for, and how much room it has.
struct DeviceMaskMapOptions {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t q_len = 0;
  std::int64_t kv_len = 0;
  std::int64_t q_block = 128;         ///< tokens of one query block
  std::int64_t spans_per_block = 16;  ///< a query block has room for
};

/// The sparsity of a mask as lists of spans in the memory of a device, made there by
/// Engine::build_mask_map from the interval form of mask_mod, so that a CUDA graph can make it
/// anew. Spans are in units of 128 keys. A query block that needs more spans than it has room for
/// ends with one partial span over what is left, which is right and slower; lists_cut() says where
/// the device counts such blocks. A program that does not depend on b (or h) has one list for all
/// batches (or heads).
class DeviceMaskMap {
 public:
  /// Bytes of memory that a map takes. Throws Error for negative lengths and sizes below 1.
  static std::size_t bytes_for(const Program& program, const DeviceMaskMapOptions& options);
  /// `memory` lies on the device, is aligned to 256 bytes, holds bytes_for() bytes and outlives the
  /// calls that read it. Throws Error where the program has no mask_mod, and for memory that does
  /// not fit.
  DeviceMaskMap(const Program& program, const DeviceMaskMapOptions& options,
                const TensorView& memory);

  const DeviceMaskMapOptions& options() const noexcept { return options_; }
  const Program& program() const noexcept { return program_; }
  const TensorView& memory() const noexcept { return memory_; }
  /// Lists that there are: 1 where one serves all.
  std::int64_t batches() const noexcept { return batches_; }
  std::int64_t heads() const noexcept { return heads_; }
  std::int64_t q_blocks() const noexcept;
  /// u32 on the device: query blocks that had too little room when the map was made last.
  const void* lists_cut() const noexcept { return memory_.data; }

  /// Throws Error unless the map is of this program, with these numbers, and of these sizes.
  void require_serves(const Program& program, std::int64_t batch, std::int64_t heads,
                      std::int64_t q_len, std::int64_t kv_len) const;

 private:
  Program program_;
  DeviceMaskMapOptions options_;
  TensorView memory_;
  std::int64_t batches_ = 1;
  std::int64_t heads_ = 1;
};

}  // namespace tilewright

#pragma GCC visibility pop
