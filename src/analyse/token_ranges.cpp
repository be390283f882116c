#include "analyse/token_ranges.h"

#include <algorithm>

namespace tilewright::analyse {

void join(std::vector<TokenRange>& ranges) {
  std::ranges::sort(ranges, {}, &TokenRange::begin);
  std::size_t count = 0;
  for (const TokenRange& range : ranges) {
    if (count > 0 && ranges[count - 1].end >= range.begin)
      ranges[count - 1].end = std::max(ranges[count - 1].end, range.end);
    else
      ranges[count++] = range;
  }
  ranges.resize(count);
}

std::vector<TokenRange> shared_by(std::span<const TokenRange> a, std::span<const TokenRange> b) {
  std::vector<TokenRange> shared;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    const TokenRange both{std::max(a[i].begin, b[j].begin), std::min(a[i].end, b[j].end)};
    if (both.begin < both.end) shared.push_back(both);
    if (a[i].end < b[j].end)
      ++i;
    else
      ++j;
  }
  return shared;
}

std::vector<TokenRange> keys_of(std::span<const Span> spans, bool only_full) {
  std::vector<TokenRange> keys;
  for (const Span& span : spans)
    if (span.full || !only_full) keys.push_back({span.kv_begin, span.kv_end});
  join(keys);
  return keys;
}

TileClass class_in_spans(std::span<const Span> spans, TokenRange kv) {
  auto span = std::ranges::upper_bound(spans, kv.begin, {}, &Span::kv_end);
  if (span == spans.end() || span->kv_begin >= kv.end) return TileClass::kEmpty;
  std::int64_t covered = kv.begin;
  for (; span != spans.end() && span->full && span->kv_begin <= covered; ++span) {
    covered = span->kv_end;
    if (covered >= kv.end) return TileClass::kFull;
  }
  return TileClass::kPartial;
}

}  // namespace tilewright::analyse
