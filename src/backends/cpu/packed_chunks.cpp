#include "backends/cpu/packed_chunks.h"

#include <algorithm>
#include <memory>

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
  const std::size_t states = chunks * sizeof(State);
  return chunks * chunk_bytes(layout) + (states + kAlignment - 1) / kAlignment * kAlignment;
}

PackedChunks::PackedChunks(const ForwardCall& call, const ForwardLayout& layout, HeadRange heads,
                           char* memory)
    : call_(call), layout_(layout), first_unit_(heads.begin), data_(memory) {
  const auto chunks = static_cast<std::size_t>((heads.end - heads.begin) * layout.chunks);
  states_ = reinterpret_cast<State*>(memory + chunks * chunk_bytes(layout));
  for (std::size_t i = 0; i < chunks; ++i) std::construct_at(states_ + i, kRaw);
}

const char* PackedChunks::chunk(std::int64_t b, std::int64_t h, std::int64_t kv_tile) const {
  const Problem& problem = *call_.problem;
  const std::int64_t unit = b * problem.kv_heads + h / problem.group();
  const std::int64_t index = (unit - first_unit_) * layout_.chunks + kv_tile;
  char* const to = data_ + static_cast<std::size_t>(index) * chunk_bytes(layout_);
  State& state = states_[index];
  std::uint32_t seen = state.load(std::memory_order_acquire);
  if (seen == kRaw && state.compare_exchange_strong(seen, kInWork, std::memory_order_acquire)) {
    pack(unit, kv_tile, to);
    state.store(kPacked, std::memory_order_release);
    state.notify_all();
    return to;
  }
  for (; seen != kPacked; seen = state.load(std::memory_order_acquire))
    state.wait(seen, std::memory_order_acquire);
  return to;
}

void PackedChunks::pack(std::int64_t unit, std::int64_t kv_tile, char* to) const {
  const Problem& problem = *call_.problem;
  const std::int64_t b = problem.kv_batch == 1 ? 0 : unit / problem.kv_heads;
  const std::int64_t h = unit % problem.kv_heads;
  const std::int64_t begin = kv_tile * call_.kv_tile_tokens;
  const TokenRange keys{begin, std::min(begin + call_.kv_tile_tokens, problem.kv_len)};
  call_.kernel->pack_key(head_matrix(call_.inputs->key, b, h, keys), to);
  call_.kernel->pack_value(head_matrix(call_.inputs->value, b, h, keys),
                           to + layout_.key_chunk_bytes);
}

}  // namespace tilewright::cpu
