#pragma once

#include <cstdint>
#include <vector>

#include "support/forward.h"
#include "tilewright/block_lists.h"

namespace tilewright::cases {

/// Block lists with the tensors that they point to: one batch, `rows` a head.
struct OwnedLists {
  Tensor counts, indices;
  BlockLists lists;
};

/// Tokens of a tile; square from one number.
struct BlockSize {
  std::int64_t q, kv;
  BlockSize(std::int64_t square) : q(square), kv(square) {}  // NOLINT(google-explicit-constructor)
  BlockSize(std::int64_t q_tokens, std::int64_t kv_tokens) : q(q_tokens), kv(kv_tokens) {}
};

/// `rows[h][q block]` lists key blocks. Index tensors have no spare slot and end at a page that
/// faults; slots past a count hold 0x7fffffff.
OwnedLists make_lists(const Extents& extents, BlockSize block,
                      const std::vector<std::vector<std::vector<int>>>& rows);

}  // namespace tilewright::cases
