#include "backends/reference/listed_tiles.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/element.h"
#include "tilewright/error.h"

namespace tilewright::reference {

namespace {

[[noreturn]] void raise(std::string what, std::string where, std::string expected,
                        std::string got) {
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = std::move(what),
               .where = std::move(where),
               .expected = std::move(expected),
               .got = std::move(got),
               .hint = {}});
}

std::int64_t tiles_of(std::int64_t length, std::int64_t block) {
  return (length + block - 1) / block;
}

void require_lengths(const BlockLists& lists, const Problem& problem) {
  if (lists.q_len != problem.q_len || lists.kv_len != problem.kv_len)
    raise("block lists are for other lengths", "block lists",
          std::to_string(problem.q_len) + " x " + std::to_string(problem.kv_len),
          std::to_string(lists.q_len) + " x " + std::to_string(lists.kv_len));
  if (lists.q_block < 1 || lists.kv_block < 1)
    raise("a block holds no tokens", "block lists", ">= 1",
          std::to_string(lists.q_block) + " x " + std::to_string(lists.kv_block));
  if (lists.full_kv_num_blocks.has_value() != lists.full_kv_indices.has_value())
    raise("full block lists need counts and indices", "block lists", "both or neither", "one");
}

void require_broadcast(std::int64_t extent, std::int64_t full, const char* axis) {
  if (extent == 1 || extent == full) return;
  raise(std::string("the ") + axis + " of block lists do not fit", "block lists",
        "1 or " + std::to_string(full), std::to_string(extent));
}

void require_shape(const TensorView& view, const char* where, std::size_t rank) {
  if (view.dtype != DType::kI32) raise("block lists are int32", where, "i32", "another dtype");
  if (view.rank() != rank)
    raise("a block list has another rank", where, std::to_string(rank),
          std::to_string(view.rank()));
}

template <std::size_t kRank>
std::int64_t read_at(const TensorView& view, const std::array<std::int64_t, kRank>& index) {
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < kRank; ++axis)
    if (view.shape[axis] != 1) offset += index[axis] * view.strides[axis];
  return read_integer(view, offset);
}

}  // namespace

ListedTiles::ListedTiles(const BlockLists& lists, const Problem& problem)
    : q_block_(lists.q_block), kv_block_(lists.kv_block) {
  require_lengths(lists, problem);
  require_shape(lists.kv_num_blocks, "kv_num_blocks", 3);
  batch_ = lists.kv_num_blocks.shape[0];
  heads_ = lists.kv_num_blocks.shape[1];
  require_broadcast(batch_, problem.batch, "batch entries");
  require_broadcast(heads_, problem.query_heads, "heads");
  q_tiles_ = tiles_of(lists.q_len, q_block_);
  kv_tiles_ = tiles_of(lists.kv_len, kv_block_);
  tiles_.assign(static_cast<std::size_t>(batch_ * heads_ * q_tiles_ * kv_tiles_), Listing::kAbsent);
  mark(lists.kv_num_blocks, lists.kv_indices, Listing::kPartial);
  if (lists.full_kv_num_blocks)
    mark(*lists.full_kv_num_blocks, *lists.full_kv_indices, Listing::kFull);
}

void ListedTiles::mark(const TensorView& counts, const TensorView& indices, Listing listing) {
  require_shape(counts, "num_blocks", 3);
  require_shape(indices, "indices", 4);
  const Dims expected{batch_, heads_, q_tiles_};
  if (!(counts.shape == expected))
    raise("block counts have another shape", "num_blocks", to_string(expected),
          to_string(counts.shape));
  const std::int64_t slots = indices.shape[3];
  if (!(indices.shape == Dims{batch_, heads_, q_tiles_, slots}))
    raise("block indices have another shape", "indices", "[B, H, query blocks, n] as the counts",
          to_string(indices.shape));
  for (std::int64_t row = 0; row < batch_ * heads_ * q_tiles_; ++row) {
    const std::int64_t b = row / (heads_ * q_tiles_);
    const std::int64_t h = row / q_tiles_ % heads_;
    const std::int64_t q = row % q_tiles_;
    const std::int64_t count = read_at<3>(counts, {b, h, q});
    if (count < 0 || count > slots)
      raise("a block count is out of range", "num_blocks", "0 .. " + std::to_string(slots),
            std::to_string(count));
    for (std::int64_t slot = 0; slot < count; ++slot) {
      const std::int64_t tile = read_at<4>(indices, {b, h, q, slot});
      if (tile < 0 || tile >= kv_tiles_)
        raise("a block index is out of range", "indices", "0 .. " + std::to_string(kv_tiles_ - 1),
              std::to_string(tile));
      Listing& entry = tiles_[static_cast<std::size_t>(row * kv_tiles_ + tile)];
      entry = std::max(entry, listing);
    }
  }
}

Listing ListedTiles::at(std::int64_t b, std::int64_t h, std::int64_t q_row,
                        std::int64_t kv_row) const {
  const std::int64_t list_b = batch_ == 1 ? 0 : b;
  const std::int64_t list_h = heads_ == 1 ? 0 : h;
  const std::int64_t row = (list_b * heads_ + list_h) * q_tiles_ + q_row / q_block_;
  return tiles_[static_cast<std::size_t>(row * kv_tiles_ + kv_row / kv_block_)];
}

}  // namespace tilewright::reference
