#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tilewright/block_lists.h"
#include "tilewright/program.h"

#pragma GCC visibility push(default)

namespace tilewright {

/// A half-open range of tokens.
struct TokenRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const noexcept { return end - begin; }
  bool operator==(const TokenRange&) const = default;
};

/// Key tokens that a query block visits. Full: every pair is live; else mask_mod decides pair by
/// pair.
struct Span {
  std::int64_t kv_begin = 0;
  std::int64_t kv_end = 0;
  bool full = false;
  bool operator==(const Span&) const = default;
};

/// What a MaskMap is built for. B and H are 1 where the program does not depend on b or h.
struct MaskMapOptions {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t q_len = 0;
  std::int64_t kv_len = 0;
  std::int64_t q_base = 0;  ///< logical position of query row 0
  std::int64_t kv_base = 0;
  std::int64_t q_block = 128;  ///< tokens of one query block
};

/// The sparsity of a mask as short lists of spans in tokens, one list a query block, sorted and
/// disjoint. O(rows) memory; never looks at N^2 pairs. Reusable across layers, kernels and passes.
class MaskMap {
 public:
  /// Builds by bisection over interval arithmetic. Throws Error where batch or heads is 1 but the
  /// program depends on b or h and the problem has more than one.
  static MaskMap build(const Program& program, const MaskMapOptions& options);
  /// From FlexAttention's lists; authoritative even without a mask_mod.
  static MaskMap from_block_lists(const BlockLists& lists);

  const MaskMapOptions& options() const noexcept;
  std::int64_t q_blocks() const noexcept;
  /// Spans of query block `q_block` of (b, h); broadcast where the map has one batch or head.
  const Span* begin(std::int64_t b, std::int64_t h, std::int64_t q_block) const noexcept;
  const Span* end(std::int64_t b, std::int64_t h, std::int64_t q_block) const noexcept;

  /// The transposed walk: query tokens that a key block visits, as spans over query tokens
  /// (kv_begin, kv_end are query tokens there).
  std::vector<Span> query_spans(std::int64_t b, std::int64_t h, TokenRange kv) const;

  /// Exact number of live pairs over all (b, h) of the map; from row intervals where the mask has
  /// them.
  std::int64_t live_pairs() const;

  std::int64_t span_count() const noexcept;
  std::size_t bytes() const noexcept;
  /// Query blocks whose evaluation budget ran out: what was left is one partial span each.
  std::int64_t blocks_over_budget() const noexcept;

  /// FlexAttention's lists with any block size; owns the arrays that the returned views point to.
  struct OwnedBlockLists {
    BlockLists lists;
    std::vector<std::int32_t> kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices;
  };
  std::unique_ptr<OwnedBlockLists> to_block_lists(std::int64_t q_block,
                                                  std::int64_t kv_block) const;

 private:
  struct State;
  explicit MaskMap(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

/// Counts of tiles of one size by class.
struct TileCounts {
  std::int64_t empty = 0;
  std::int64_t partial = 0;
  std::int64_t full = 0;
};

enum class TileClass : std::uint8_t { kEmpty, kPartial, kFull };

}  // namespace tilewright

#pragma GCC visibility pop
