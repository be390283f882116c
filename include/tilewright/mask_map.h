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

/// What a MaskMap is built for. A program that does not depend on b (or h) is evaluated once and
/// serves every batch (or head); one that does is evaluated for each.
struct MaskMapOptions {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t q_len = 0;
  std::int64_t kv_len = 0;
  std::int64_t q_base = 0;  ///< logical position of query row 0
  std::int64_t kv_base = 0;
  std::int64_t q_block = 128;  ///< tokens of one query block
  /// The map is meant for any batch (or head): building it from a program that depends on b (or h)
  /// throws.
  bool broadcast_batch = false;
  bool broadcast_heads = false;
};

enum class TileClass : std::uint8_t { kEmpty, kPartial, kFull };

/// Counts of tiles of one size by class.
struct TileCounts {
  std::int64_t empty = 0;
  std::int64_t partial = 0;
  std::int64_t full = 0;
  bool operator==(const TileCounts&) const = default;
};

/// FlexAttention's lists with the arrays that their views point to.
struct OwnedBlockLists;

/// The sparsity of a mask as short lists of spans in tokens, one list a query block, sorted and
/// disjoint. O(rows) memory; never looks at N^2 pairs. Reusable across layers, kernels and passes.
/// Spans count tokens from the first key of the problem, whatever kv_base is. Thread-safe.
class MaskMap {
 public:
  /// Builds by bisection over interval arithmetic. Captured tensors must lie on the CPU and outlive
  /// the map unchanged: counts and tile classes read them again. Throws Error for negative lengths,
  /// a block below 1, and a broadcast map of a program that depends on b or h.
  static MaskMap build(const Program& program, const MaskMapOptions& options);
  /// From FlexAttention's lists, authoritative without a mask_mod: every pair of a listed tile is
  /// live. Throws Error for wrong shapes, dtypes or devices and for counts or indices out of range.
  static MaskMap from_block_lists(const BlockLists& lists);
  /// The same where mask_mod decides the pairs of partial tiles; `options` says the lengths and
  /// bases, which must be those of the lists, and its q_block is ignored.
  static MaskMap from_block_lists(const BlockLists& lists, const Program& program,
                                  const MaskMapOptions& options);

  const MaskMapOptions& options() const noexcept;
  std::int64_t q_blocks() const noexcept;
  /// Spans of query block `q_block` of (b, h); broadcast where one list serves every batch or head.
  const Span* begin(std::int64_t b, std::int64_t h, std::int64_t q_block) const noexcept;
  const Span* end(std::int64_t b, std::int64_t h, std::int64_t q_block) const noexcept;

  /// Throws Error unless the map serves a call of these sizes: the same lengths, and batch and
  /// heads either the map's own or 1 for a map that holds for any.
  void require_serves(std::int64_t batch, std::int64_t heads, std::int64_t q_len,
                      std::int64_t kv_len) const;

  /// Throws Error unless build() made the map from this program: the same structure, numbers, and
  /// captured tensors at the same addresses with the same strides.
  void require_describes(const Program& program) const;

  /// The map of query tokens [q.begin, q.end) as a problem of its own, whose row 0 lies at q_base +
  /// q.begin. Throws Error for a range outside the lengths, or that does not begin where a query
  /// block does.
  MaskMap query_rows(TokenRange q) const;
  /// A map of the same program for other lengths, cropped or longer. Throws Error for a map of
  /// block lists, which say nothing about other lengths.
  MaskMap with_lengths(std::int64_t q_len, std::int64_t kv_len) const;

  /// The transposed walk: query tokens that a key block visits, as spans over query tokens
  /// (kv_begin, kv_end are query tokens there), in steps of q_block.
  std::vector<Span> query_spans(std::int64_t b, std::int64_t h, TokenRange kv) const;

  /// Exact number of live pairs over all (b, h) of options(); from row intervals where the mask has
  /// them. Counted at the first call.
  std::int64_t live_pairs() const;
  /// Pairs inside spans, over all (b, h) of options(): what a kernel visits.
  std::int64_t covered_pairs() const noexcept;
  /// Share of all pairs that no span covers, in [0, 100]; 0 where there are no pairs.
  double sparsity_percent() const noexcept;
  /// Tiles of this size by class, over all (b, h) of options(). Ragged tiles count by their valid
  /// pairs alone.
  TileCounts count_tiles(std::int64_t q_block, std::int64_t kv_block) const;
  /// The class of one rectangle of tokens; never empty or full wrongly.
  TileClass tile_class(std::int64_t b, std::int64_t h, TokenRange q, TokenRange kv) const;

  std::int64_t span_count() const noexcept;
  /// Of the lists and the pyramids.
  std::size_t bytes() const noexcept;
  /// Query blocks whose evaluation budget ran out: what was left counts as partial.
  std::int64_t blocks_over_budget() const noexcept;
  /// Interval evaluations that building took.
  std::int64_t evaluations() const noexcept;

  /// FlexAttention's lists with any block size.
  std::unique_ptr<OwnedBlockLists> to_block_lists(std::int64_t q_block,
                                                  std::int64_t kv_block) const;

  /// What a map holds; opaque outside the library.
  struct State;
  const State& state() const noexcept { return *state_; }

 private:
  explicit MaskMap(std::shared_ptr<const State> state);
  std::int64_t count_live_pairs() const;
  std::shared_ptr<const State> state_;
};

struct OwnedBlockLists {
  BlockLists lists;
  std::vector<std::int32_t> kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices;
};

}  // namespace tilewright

#pragma GCC visibility pop
