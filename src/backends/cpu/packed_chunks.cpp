#include "backends/cpu/packed_chunks.h"

#include <algorithm>
#include <memory>

#include "backends/cpu/item_tiles.h"
#include "base/check.h"

namespace tilewright::cpu {

namespace {

enum : std::uint32_t { kRaw, kInWork, kPacked };

std::int64_t stride_of(const TensorView& tensor, std::size_t axis) {
  // Strides of axes of extent 1 may hold anything (field report C093).
  return tensor.shape[axis] == 1 ? 0 : tensor.strides[axis];
}

std::size_t chunk_bytes(const ForwardLayout& layout) {
  return layout.key_chunk_bytes + layout.value_chunk_bytes;
}

}  // namespace

MatrixView head_matrix(const TensorView& tensor, std::int64_t b, std::int64_t h, TokenRange rows) {
  const auto bytes = static_cast<std::int64_t>(size_bytes(tensor.dtype));
  const std::int64_t offset =
      b * stride_of(tensor, 0) + h * stride_of(tensor, 1) + rows.begin * stride_of(tensor, 2);
  return {.data = static_cast<const char*>(tensor.data) + offset * bytes,
          .type = tensor.dtype,
          .rows = rows.size(),
          .columns = tensor.shape[3],
          .row_stride = stride_of(tensor, 2),
          .column_stride = stride_of(tensor, 3)};
}

std::size_t PackedChunks::bytes(const ForwardLayout& layout, std::int64_t heads) {
  constexpr std::size_t kAlignment = kPanelAlignment;
  const std::size_t chunks = static_cast<std::size_t>(heads * layout.chunks);
  const std::size_t notes = chunks * sizeof(Chunk);
  return chunks * chunk_bytes(layout) + (notes + kAlignment - 1) / kAlignment * kAlignment;
}

PackedChunks::PackedChunks(const ForwardCall& call, const ForwardLayout& layout, HeadRange heads,
                           const std::vector<WorkItem>& items, char* memory)
    : call_(call), layout_(layout), first_unit_(heads.begin), data_(memory) {
  const auto chunks = static_cast<std::size_t>((heads.end - heads.begin) * layout.chunks);
  chunks_ = reinterpret_cast<Chunk*>(memory + chunks * chunk_bytes(layout));
  for (std::size_t i = 0; i < chunks; ++i) std::construct_at(chunks_ + i, kRaw, 0, 0);
  ItemTiles tiles(call);
  for (const WorkItem& item : items)
    for (const std::int64_t tile : tiles.of(item))
      at(item.b, item.h, tile).items.fetch_add(1, std::memory_order_relaxed);
}

PackedChunks::Chunk& PackedChunks::at(std::int64_t b, std::int64_t h, std::int64_t kv_tile) const {
  const Problem& problem = *call_.problem;
  const std::int64_t unit = b * problem.kv_heads + h / problem.group();
  return chunks_[(unit - first_unit_) * layout_.chunks + kv_tile];
}

char* PackedChunks::memory_of(const Chunk& chunk) const {
  return data_ + static_cast<std::size_t>(chunk.slot) * chunk_bytes(layout_);
}

std::int64_t PackedChunks::take_slot() {
  const std::lock_guard lock(slots_mutex_);
  if (free_slots_.empty()) return used_slots_++;
  const std::int64_t slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

const char* PackedChunks::chunk(std::int64_t b, std::int64_t h, std::int64_t kv_tile) {
  Chunk& chunk = at(b, h, kv_tile);
  TILEWRIGHT_CHECK(chunk.items.load(std::memory_order_relaxed) > 0);
  std::uint32_t seen = chunk.state.load(std::memory_order_acquire);
  if (seen == kRaw &&
      chunk.state.compare_exchange_strong(seen, kInWork, std::memory_order_acquire)) {
    chunk.slot = take_slot();
    pack(b, h, kv_tile, memory_of(chunk));
    chunk.state.store(kPacked, std::memory_order_release);
    chunk.state.notify_all();
    return memory_of(chunk);
  }
  for (; seen != kPacked; seen = chunk.state.load(std::memory_order_acquire))
    chunk.state.wait(seen, std::memory_order_acquire);
  return memory_of(chunk);
}

void PackedChunks::release(const WorkItem& item, const std::vector<std::int64_t>& tiles) {
  for (const std::int64_t tile : tiles) {
    Chunk& chunk = at(item.b, item.h, tile);
    const bool is_last = chunk.items.fetch_sub(1, std::memory_order_acq_rel) == 1;
    if (!is_last || chunk.state.load(std::memory_order_relaxed) != kPacked) continue;
    const std::lock_guard lock(slots_mutex_);
    free_slots_.push_back(chunk.slot);
  }
}

void PackedChunks::pack(std::int64_t b, std::int64_t h, std::int64_t kv_tile, char* to) const {
  const Problem& problem = *call_.problem;
  const std::int64_t kv_b = problem.kv_batch == 1 ? 0 : b;
  const std::int64_t kv_h = h / problem.group();
  const std::int64_t begin = kv_tile * call_.kv_tile_tokens;
  const TokenRange keys{begin, std::min(begin + call_.kv_tile_tokens, call_.keys_of(b))};
  call_.kernel->pack_key(head_matrix(call_.inputs->key, kv_b, kv_h, keys), to);
  call_.kernel->pack_value(head_matrix(call_.inputs->value, kv_b, kv_h, keys),
                           to + layout_.key_chunk_bytes);
}

}  // namespace tilewright::cpu
