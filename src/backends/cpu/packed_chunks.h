#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "backends/cpu/forward_call.h"
#include "backends/cpu/work_items.h"

namespace tilewright::cpu {

/// The matrix of one head: rows x columns of a [B, H, rows, columns] tensor, from `row_begin`.
MatrixView head_matrix(const TensorView& tensor, std::int64_t b, std::int64_t h, TokenRange rows);

/// Packed kv tiles of the kv heads in hand. A tile is packed by the first worker that visits it, so
/// tiles that no row visits cost nothing and a packed tile is met in the cache. The memory of a
/// tile that no item needs any more serves the next one, so that short spans and finished heads
/// pack into memory that is still in the cache. Thread-safe.
class PackedChunks {
 public:
  /// Bytes that `heads` kv heads take, a multiple of kPanelAlignment.
  static std::size_t bytes(const ForwardLayout& layout, std::int64_t heads);

  /// @param items   all items that will ask for tiles, each once
  /// @param memory  bytes(layout, heads.size) bytes with any contents
  PackedChunks(const ForwardCall& call, const ForwardLayout& layout, HeadRange heads,
               const std::vector<WorkItem>& items, char* memory);

  /// Keys of a kv tile of the kv head that serves query head `h`; values follow key_chunk_bytes
  /// later. The tile is one of ItemTiles of an item that was not released.
  const char* chunk(std::int64_t b, std::int64_t h, std::int64_t kv_tile);

  /// The item asks for no more tiles.
  /// @param tiles  its ItemTiles
  void release(const WorkItem& item, const std::vector<std::int64_t>& tiles);

 private:
  struct Chunk {
    std::atomic<std::uint32_t> state;
    std::atomic<std::int32_t> items;  ///< that were not released
    std::int64_t slot;                ///< of the memory, once in work
  };
  Chunk& at(std::int64_t b, std::int64_t h, std::int64_t kv_tile) const;
  char* memory_of(const Chunk& chunk) const;
  std::int64_t take_slot();
  void pack(std::int64_t b, std::int64_t h, std::int64_t kv_tile, char* to) const;

  const ForwardCall& call_;
  const ForwardLayout& layout_;
  std::int64_t first_unit_;
  char* data_;
  Chunk* chunks_;  ///< behind the data
  std::mutex slots_mutex_;
  std::vector<std::int64_t> free_slots_;  ///< the last one was used last
  std::int64_t used_slots_ = 0;
};

}  // namespace tilewright::cpu
