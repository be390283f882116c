#include "backends/cpu/work_items.h"

#include <algorithm>

namespace tilewright::cpu {

namespace {

/// Query heads that one item may hold: those of a group share keys, which pays when the queries are
/// few.
std::int64_t heads_per_item(const ForwardCall& call) {
  const Problem& problem = *call.problem;
  const bool per_head_map = call.map != nullptr && call.map->options().heads > 1;
  if (per_head_map || problem.q_len == 0 || problem.q_len > call.q_tile_rows / 2) return 1;
  const bool direct = problem.q_len * problem.group() <= kDirectRows;
  if (direct && problem.q_len > 1) return 1;
  return std::min(problem.group(), call.q_tile_rows / problem.q_len);
}

/// Rows are cut where the map's query blocks end, so that an item has one span list.
std::int64_t rows_until_cut(const ForwardCall& call, std::int64_t q) {
  std::int64_t rows = std::min(call.q_tile_rows, call.problem->q_len - q);
  if (call.map == nullptr) return rows;
  const std::int64_t block = call.map->options().q_block;
  return std::min(rows, block - q % block);
}

std::int64_t visited_keys(const ForwardCall& call, const WorkItem& item) {
  if (call.map == nullptr) return item.keys.size();
  const std::int64_t q_block = item.q_begin / call.map->options().q_block;
  std::int64_t keys = 0;
  for (const Span* span = call.map->begin(item.b, item.h, q_block);
       span != call.map->end(item.b, item.h, q_block); ++span)
    keys += std::max<std::int64_t>(
        0, std::min(span->kv_end, item.keys.end) - std::max(span->kv_begin, item.keys.begin));
  return keys;
}

void add_head_items(const ForwardCall& call, std::int64_t b, std::int64_t h, std::int64_t heads,
                    std::vector<WorkItem>& items) {
  std::int64_t q = 0;
  while (q < call.problem->q_len) {
    const std::int64_t rows = rows_until_cut(call, q);
    items.push_back({.b = b,
                     .h = h,
                     .heads = heads,
                     .q_begin = q,
                     .q_rows = rows,
                     .keys = {0, call.problem->kv_len},
                     .slot = kFinalSlot,
                     .cost = 0});
    q += rows;
  }
}

std::vector<WorkItem> unsplit_items(const ForwardCall& call, HeadRange range) {
  const Problem& problem = *call.problem;
  const std::int64_t per_item = heads_per_item(call);
  std::vector<WorkItem> items;
  for (std::int64_t unit = range.begin; unit < range.end; ++unit) {
    const std::int64_t b = unit / problem.kv_heads;
    const std::int64_t first = unit % problem.kv_heads * problem.group();
    for (std::int64_t g = 0; g < problem.group(); g += per_item)
      add_head_items(call, b, first + g, std::min(per_item, problem.group() - g), items);
  }
  return items;
}

void split_item(const ForwardCall& call, const WorkItem& item, Schedule& schedule) {
  MergeItem merge{.item = item, .first_slot = schedule.slots, .slots = 0};
  for (std::int64_t begin = 0; begin < item.keys.end; begin += call.split_tokens) {
    WorkItem part = item;
    part.keys = {begin, std::min(begin + call.split_tokens, item.keys.end)};
    part.slot = schedule.slots++;
    schedule.items.push_back(part);
    ++merge.slots;
  }
  schedule.merges.push_back(merge);
}

}  // namespace

Schedule make_schedule(const ForwardCall& call, HeadRange heads, int threads) {
  Schedule schedule;
  std::vector<WorkItem> items = unsplit_items(call, heads);
  const bool split =
      static_cast<int>(items.size()) < threads && call.problem->kv_len > call.split_tokens;
  if (!split)
    schedule.items = std::move(items);
  else
    for (const WorkItem& item : items) split_item(call, item, schedule);
  for (WorkItem& item : schedule.items) item.cost = visited_keys(call, item) * item.rows();
  std::stable_sort(schedule.items.begin(), schedule.items.end(),
                   [](const WorkItem& a, const WorkItem& b) { return a.cost > b.cost; });
  return schedule;
}

}  // namespace tilewright::cpu
