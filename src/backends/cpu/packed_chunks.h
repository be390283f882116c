#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/forward_call.h"
#include "backends/cpu/work_items.h"

namespace tilewright::cpu {

/// The matrix of one head: rows x columns of a [B, H, rows, columns] tensor, from `row_begin`.
MatrixView head_matrix(const TensorView& tensor, std::int64_t b, std::int64_t h, TokenRange rows);

/// Packed kv tiles of the kv heads in hand. A tile is packed by the first worker that visits it, so
/// tiles that no row visits cost nothing and a packed tile is met in the cache. Thread-safe.
class PackedChunks {
 public:
  /// Bytes that `heads` kv heads take, a multiple of kPanelAlignment.
  static std::size_t bytes(const ForwardLayout& layout, std::int64_t heads);

  /// @param memory  bytes(layout, heads.size) bytes with any contents
  PackedChunks(const ForwardCall& call, const ForwardLayout& layout, HeadRange heads, char* memory);

  /// Keys of a kv tile of the kv head that serves query head `h`; values follow key_chunk_bytes
  /// later.
  const char* chunk(std::int64_t b, std::int64_t h, std::int64_t kv_tile) const;

 private:
  using State = std::atomic<std::uint32_t>;
  void pack(std::int64_t unit, std::int64_t kv_tile, char* to) const;

  const ForwardCall& call_;
  const ForwardLayout& layout_;
  std::int64_t first_unit_;
  char* data_;
  State* states_;  ///< one a chunk, behind the data
};

}  // namespace tilewright::cpu
