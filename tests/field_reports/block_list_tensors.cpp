#include "field_reports/block_list_tensors.h"

#include <algorithm>

namespace tilewright::cases {

OwnedLists make_lists(const Extents& extents, BlockSize block,
                      const std::vector<std::vector<std::vector<int>>>& rows) {
  const auto heads = static_cast<std::int64_t>(rows.size());
  const auto q_blocks = static_cast<std::int64_t>(rows.front().size());
  std::size_t slots = 0;
  for (const auto& head : rows)
    for (const auto& row : head) slots = std::max(slots, row.size());
  const auto make = [](const Dims& shape) {
    return Tensor(TensorSpec{.dtype = DType::kI32,
                             .shape = shape,
                             .layout = Layout::kContiguous,
                             .placement = Placement::kGuardAfter});
  };
  OwnedLists owned{.counts = make({1, heads, q_blocks}),
                   .indices = make({1, heads, q_blocks, static_cast<std::int64_t>(slots)}),
                   .lists = {}};
  const auto row_of = [&](const Dims& at) -> const std::vector<int>& {
    return rows[static_cast<std::size_t>(at[1])][static_cast<std::size_t>(at[2])];
  };
  owned.counts.fill([&](const Dims& at) { return static_cast<double>(row_of(at).size()); });
  owned.indices.fill([&](const Dims& at) {
    const std::vector<int>& row = row_of(at);
    const auto slot = static_cast<std::size_t>(at[3]);
    return slot < row.size() ? static_cast<double>(row[slot]) : double{0x7fffffff};
  });
  owned.lists = {.q_len = extents.q_len,
                 .kv_len = extents.kv_len,
                 .q_block = block.q,
                 .kv_block = block.kv,
                 .kv_num_blocks = owned.counts.view(),
                 .kv_indices = owned.indices.view(),
                 .full_kv_num_blocks = {},
                 .full_kv_indices = {}};
  return owned;
}

}  // namespace tilewright::cases
