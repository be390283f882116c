#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "analyse/tile_class.h"
#include "ir/program.h"
#include "tilewright/mask_map.h"
#include "tilewright/program.h"

namespace tilewright {

/// Lists of spans, one after another, with what the later questions need.
struct MaskMap::State {
  MaskMapOptions options;
  std::int64_t batches = 1;  ///< lists kept: 1 or options.batch
  std::int64_t heads = 1;
  std::int64_t q_blocks = 0;
  std::vector<std::int64_t> first;  ///< of each list, by (b, h, query block); one more at the end
  std::vector<Span> spans;
  /// Of each kGroupBlocks query blocks the keys that any of them visits, so that the transposed
  /// walk passes over whole groups.
  std::vector<TokenRange> group_keys;
  std::int64_t blocks_over_budget = 0;
  std::int64_t evaluations = 0;
  bool holds_for_any_batch = true;  ///< the mask does not depend on b
  bool holds_for_any_head = true;
  bool from_lists = false;  ///< the spans decide, mask_mod only inside partial ones

  std::optional<Program> program;  ///< keeps what the classifier refers to
  std::optional<analyse::TileClassifier> classifier;

  mutable std::once_flag live_pairs_once;
  mutable std::int64_t live_pairs = 0;

  static constexpr std::int64_t kGroupBlocks = 64;

  std::int64_t list(std::int64_t b, std::int64_t h, std::int64_t q_block) const {
    return ((batches == 1 ? 0 : b) * heads + (heads == 1 ? 0 : h)) * q_blocks + q_block;
  }
  std::span<const Span> spans_of(std::int64_t list) const {
    const auto begin = static_cast<std::size_t>(first[static_cast<std::size_t>(list)]);
    const auto end = static_cast<std::size_t>(first[static_cast<std::size_t>(list) + 1]);
    return {spans.data() + begin, end - begin};
  }
  /// Query tokens of a block, from 0.
  TokenRange rows(std::int64_t q_block) const {
    const std::int64_t begin = q_block * options.q_block;
    return {begin, std::min(begin + options.q_block, options.q_len)};
  }
  /// How many (b, h) of the options one kept list stands for.
  std::int64_t copies() const { return (options.batch / batches) * (options.heads / heads); }
  /// The same rectangle in logical positions.
  analyse::TileRange logical(std::int64_t b, std::int64_t h, TokenRange q, TokenRange kv) const {
    return {.b = b,
            .h = h,
            .q = {q.begin + options.q_base, q.end + options.q_base},
            .kv = {kv.begin + options.kv_base, kv.end + options.kv_base}};
  }
  void find_group_keys();
};

}  // namespace tilewright
