#include "analyse/block_list_shapes.h"

#include <utility>

#include "tilewright/error.h"

namespace tilewright::analyse {

namespace {

std::int64_t tiles_of(std::int64_t length, std::int64_t block) {
  return (length + block - 1) / block;
}

void require_integers(const TensorView& view, const std::string& name, std::size_t rank,
                      Device device) {
  if (view.dtype != DType::kI32)
    raise_lists(name, "dtype i32", std::string(tilewright::name(view.dtype)));
  if (view.rank() != rank)
    raise_lists(name, "rank " + std::to_string(rank), "rank " + std::to_string(view.rank()));
  if (view.device != device)
    raise_lists(name, "a tensor on " + to_string(device), to_string(view.device));
  if (view.data == nullptr && element_count(view.shape) != 0) raise_lists(name, "data", "null");
}

/// Counts and indices of one kind of tiles.
void require_shapes(const TensorView& counts, const TensorView& indices, const std::string& name,
                    const Dims& expected) {
  if (counts.shape != expected || expected[0] < 1 || expected[1] < 1)
    raise_lists(name + "_num_blocks", to_string(expected), to_string(counts.shape));
  const Dims leading{indices.shape[0], indices.shape[1], indices.shape[2]};
  if (leading != expected)
    raise_lists(name + "_indices", to_string(expected) + " and the entries of a row",
                to_string(indices.shape));
}

}  // namespace

void raise_lists(const std::string& where, std::string expected, std::string got) {
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = "the block lists do not describe this mask",
               .where = where,
               .expected = std::move(expected),
               .got = std::move(got),
               .hint = {}});
}

ListShapes list_shapes(const BlockLists& lists, Device device) {
  if (lists.q_len < 0 || lists.kv_len < 0)
    raise_lists("lengths", "at least 0", to_string(Dims{lists.q_len, lists.kv_len}));
  if (lists.q_block < 1 || lists.kv_block < 1)
    raise_lists("block size", "at least 1 token", to_string(Dims{lists.q_block, lists.kv_block}));
  if (lists.full_kv_num_blocks.has_value() != lists.full_kv_indices.has_value())
    raise_lists("full_kv_num_blocks and full_kv_indices", "both or neither", "one of them");
  require_integers(lists.kv_num_blocks, "kv_num_blocks", 3, device);
  require_integers(lists.kv_indices, "kv_indices", 4, device);
  const ListShapes shapes{.batches = lists.kv_num_blocks.shape[0],
                          .heads = lists.kv_num_blocks.shape[1],
                          .q_tiles = tiles_of(lists.q_len, lists.q_block),
                          .kv_tiles = tiles_of(lists.kv_len, lists.kv_block)};
  const Dims expected{shapes.batches, shapes.heads, shapes.q_tiles};
  require_shapes(lists.kv_num_blocks, lists.kv_indices, "kv", expected);
  if (!lists.full_kv_num_blocks) return shapes;
  require_integers(*lists.full_kv_num_blocks, "full_kv_num_blocks", 3, device);
  require_integers(*lists.full_kv_indices, "full_kv_indices", 4, device);
  require_shapes(*lists.full_kv_num_blocks, *lists.full_kv_indices, "full_kv", expected);
  return shapes;
}

}  // namespace tilewright::analyse
