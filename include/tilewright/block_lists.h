#pragma once

#include <cstdint>
#include <optional>

#include "tilewright/tensor.h"

#pragma GCC visibility push(default)

namespace tilewright {

/// FlexAttention's block lists: for each (b, h, query block) how many key blocks and which. Sets:
/// order does not matter, a tile listed twice counts once, and where it is in both lists full wins.
/// Entries past a count are never read.
struct BlockLists {
  std::int64_t q_len = 0;  ///< exact lengths; must equal the problem's
  std::int64_t kv_len = 0;
  std::int64_t q_block = 128;  ///< tokens
  std::int64_t kv_block = 128;
  TensorView kv_num_blocks;  ///< int32 [B or 1, H or 1, q blocks]: tiles where mask_mod decides
  TensorView kv_indices;     ///< int32 [B or 1, H or 1, q blocks, n]
  std::optional<TensorView> full_kv_num_blocks;  ///< tiles that skip mask_mod; both or neither
  std::optional<TensorView> full_kv_indices;
};

}  // namespace tilewright

#pragma GCC visibility pop
