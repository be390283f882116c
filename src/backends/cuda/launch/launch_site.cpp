#include "backends/cuda/launch/launch_site.h"

#include <algorithm>

#include "tilewright/error.h"

namespace tilewright::cuda {

namespace {

void check_length(std::int64_t length, const char* where) {
  if (length < kPositionLimit) return;
  throw Error({.code = ErrorCode::kUnsupported,
               .what = "a length is too large for 32-bit positions",
               .where = where,
               .expected = "below " + std::to_string(kPositionLimit),
               .got = std::to_string(length),
               .hint = "split the rows, or merge partial results over parts of the keys"});
}

std::int64_t tiles_of(std::int64_t rows, std::int64_t tile) { return (rows + tile - 1) / tile; }

}  // namespace

std::string text_of(const Problem& problem) {
  std::string text;
  const auto add = [&text](const char* name, std::int64_t value) {
    text += std::string(text.empty() ? "" : ", ") + name + " " + std::to_string(value);
  };
  add("B", problem.batch);
  add("Bkv", problem.kv_batch);
  add("Hq", problem.query_heads);
  add("Hkv", problem.kv_heads);
  add("Q", problem.q_len);
  add("KV", problem.kv_len);
  add("E", problem.head_dim);
  add("Ev", problem.value_dim);
  return text + ", " + std::string(name(problem.query_dtype));
}

RowCut cut_rows(const LaunchSite& site, std::int64_t rows) {
  const std::int64_t tile = site.row.q_rows;
  if (!site.row.walks_lists)
    return {.q_tiles = tiles_of(rows, tile), .item_rows = tile, .block_tiles = 1};
  constexpr std::int64_t kUnitRows = 16;
  const std::int64_t block = site.lists.q_block_rows, tiles = tiles_of(block, tile);
  RowCut cut{.item_rows = std::min(tiles_of(tiles_of(block, tiles), kUnitRows) * kUnitRows, tile)};
  cut.block_tiles = tiles_of(block, cut.item_rows);
  cut.q_tiles = rows / block * cut.block_tiles + tiles_of(rows % block, cut.item_rows);
  return cut;
}

void check_extents(const Problem& problem) {
  check_length(problem.q_len, "query length");
  check_length(problem.kv_len, "key length");
  check_length(problem.batch * problem.query_heads, "batch times query heads");
}

void check_statistics(const ForwardOutputs& outputs) {
  if (!outputs.lse || !outputs.max_scores) return;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (stride_of(*outputs.lse, axis) == stride_of(*outputs.max_scores, axis)) continue;
    throw Error({.code = ErrorCode::kUnsupported,
                 .what = "lse and max_scores must lie alike on a CUDA device",
                 .where = "max_scores",
                 .expected = "strides " + to_string(outputs.lse->strides),
                 .got = to_string(outputs.max_scores->strides),
                 .hint = "give both the same strides"});
  }
}

const TensorView* statistic_of(const ForwardOutputs& outputs) noexcept {
  if (outputs.lse) return &*outputs.lse;
  return outputs.max_scores ? &*outputs.max_scores : nullptr;
}

}  // namespace tilewright::cuda
