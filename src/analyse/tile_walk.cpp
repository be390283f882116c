#include "analyse/tile_walk.h"

#include <algorithm>

#include "analyse/token_ranges.h"
#include "tilewright/error.h"

namespace tilewright::analyse {

namespace {

void append(std::vector<TileRun>& runs, std::int64_t begin, std::int64_t end, bool full) {
  if (!runs.empty() && runs.back().end == begin && runs.back().full == full)
    runs.back().end = end;
  else
    runs.push_back({.begin = begin, .end = end, .full = full});
}

/// The last tile boundary that full keys reach, seen from a token inside them; the end of the keys
/// of the problem counts as one.
std::int64_t tiles_reached(std::int64_t keys_end, std::int64_t kv_block, std::int64_t kv_len) {
  return keys_end == kv_len ? (kv_len + kv_block - 1) / kv_block : keys_end / kv_block;
}

}  // namespace

void require_tile(std::int64_t q_block, std::int64_t kv_block) {
  if (q_block >= 1 && kv_block >= 1) return;
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = "a tile needs at least one token along each axis",
               .where = "block size",
               .expected = "at least 1",
               .got = std::to_string(q_block) + " x " + std::to_string(kv_block),
               .hint = {}});
}

TileClass TileWalk::class_by_spans(std::int64_t list, TokenRange q, TokenRange kv) const {
  const std::int64_t block = state_.options.q_block;
  bool all_full = true;
  bool all_empty = true;
  for (std::int64_t i = q.begin / block; i <= (q.end - 1) / block; ++i) {
    const TileClass found = class_in_spans(state_.spans_of(list + i), kv);
    all_full &= found == TileClass::kFull;
    all_empty &= found == TileClass::kEmpty;
  }
  if (all_full) return TileClass::kFull;
  return all_empty ? TileClass::kEmpty : TileClass::kPartial;
}

/// The class of a tile that spans leave open. Lists from outside may leave pairs out that the mask
/// keeps, so there the mask can only empty a tile, and only if no full tile of a list meets it.
TileClass TileWalk::asked_of_mask(const TileRow& row, TokenRange q, TokenRange kv) const {
  if (!state_.classifier || state_.classifier->tape() == nullptr) return TileClass::kPartial;
  const TileClass found = state_.classifier->classify(state_.logical(row.b, row.h, q, kv));
  if (!state_.from_lists) return found;
  const std::int64_t block = state_.options.q_block;
  const std::int64_t list = state_.list(row.b, row.h, 0);
  bool covered = true;
  const std::vector<TokenRange> tile{kv};
  for (std::int64_t i = q.begin / block; i <= (q.end - 1) / block; ++i) {
    const auto full = keys_of(state_.spans_of(list + i), true);
    if (!shared_by(full, tile).empty()) return TileClass::kPartial;
    covered &= shared_by(keys_of(state_.spans_of(list + i), false), tile) == tile;
  }
  return found == TileClass::kFull && !covered ? TileClass::kPartial : found;
}

TileClass TileWalk::classify(std::int64_t b, std::int64_t h, TokenRange q, TokenRange kv) const {
  if (q.size() <= 0 || kv.size() <= 0) return TileClass::kEmpty;
  const TileClass found = class_by_spans(state_.list(b, h, 0), q, kv);
  if (found != TileClass::kPartial) return found;
  return asked_of_mask({.b = b, .h = h, .q_tile = 0, .runs = {}}, q, kv);
}

void TileWalk::fill_row(TileRow& row, TokenRange q, std::int64_t kv_block) const {
  row.runs.clear();
  const std::int64_t list = state_.list(row.b, row.h, 0);
  const std::int64_t first = q.begin / state_.options.q_block;
  const std::int64_t last = (q.end - 1) / state_.options.q_block;
  std::vector<TokenRange> full = keys_of(state_.spans_of(list + first), true);
  std::vector<TokenRange> any = keys_of(state_.spans_of(list + first), false);
  for (std::int64_t block = first + 1; block <= last; ++block) {
    full = shared_by(full, keys_of(state_.spans_of(list + block), true));
    const auto more = keys_of(state_.spans_of(list + block), false);
    any.insert(any.end(), more.begin(), more.end());
  }
  join(any);

  const std::int64_t kv_len = state_.options.kv_len;
  std::int64_t next = 0;
  auto stretch = full.begin();
  for (const TokenRange& keys : any)
    for (std::int64_t tile = std::max(next, keys.begin / kv_block); tile * kv_block < keys.end;
         tile = next) {
      const TokenRange kv{tile * kv_block, std::min((tile + 1) * kv_block, kv_len)};
      while (stretch != full.end() && stretch->end < kv.end) ++stretch;
      if (stretch != full.end() && stretch->begin <= kv.begin) {
        next = tiles_reached(stretch->end, kv_block, kv_len);
        append(row.runs, tile, next, true);
        continue;
      }
      next = tile + 1;
      const TileClass found = asked_of_mask(row, q, kv);
      if (found != TileClass::kEmpty) append(row.runs, tile, next, found == TileClass::kFull);
    }
}

void TileWalk::for_each_row(std::int64_t q_block, std::int64_t kv_block,
                            const std::function<void(const TileRow&)>& visit) const {
  const std::int64_t q_len = state_.options.q_len;
  TileRow row;
  for (row.b = 0; row.b < state_.batches; ++row.b)
    for (row.h = 0; row.h < state_.heads; ++row.h)
      for (row.q_tile = 0; row.q_tile * q_block < q_len; ++row.q_tile) {
        const std::int64_t begin = row.q_tile * q_block;
        fill_row(row, {begin, std::min(begin + q_block, q_len)}, kv_block);
        visit(row);
      }
}

}  // namespace tilewright::analyse
