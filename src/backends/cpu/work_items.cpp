#include "backends/cpu/work_items.h"

#include <algorithm>
#include <tuple>

namespace tilewright::cpu {

namespace {

/// Query heads that one item may hold: those of a group share keys, which pays when the queries are
/// few.
std::int64_t heads_per_item(const ForwardCall& call, std::int64_t item_rows) {
  const Problem& problem = *call.problem;
  const bool per_head_map = call.map != nullptr && call.map->options().heads > 1;
  if (per_head_map || problem.q_len == 0 || problem.q_len > item_rows / 2) return 1;
  if (reads_keys_in_place(call) && problem.q_len > 1) return 1;
  return std::min(problem.group(), item_rows / problem.q_len);
}

/// Key tokens visited, summed over the item's rows.
std::int64_t visited_pairs(const ForwardCall& call, const WorkItem& item) {
  if (call.map == nullptr) return item.keys.size() * item.rows();
  const std::int64_t block = call.map->options().q_block;
  const std::int64_t q_end = item.q_begin + item.q_rows;
  std::int64_t pairs = 0;
  for (std::int64_t q = item.q_begin; q < q_end;) {
    const std::int64_t rows = std::min(block - q % block, q_end - q);
    const Span* const end = call.map->end(item.b, item.h, q / block);
    for (const Span* span = call.map->begin(item.b, item.h, q / block); span != end; ++span)
      pairs += rows * std::max<std::int64_t>(0, std::min(span->kv_end, item.keys.end) -
                                                    std::max(span->kv_begin, item.keys.begin));
    q += rows;
  }
  return pairs * item.heads;
}

/// Some heads' item without rows.
WorkItem first_item(const ForwardCall& call, std::int64_t b, std::int64_t h, std::int64_t heads) {
  return {.b = b,
          .h = h,
          .heads = heads,
          .q_begin = 0,
          .q_rows = 0,
          .keys = {0, call.keys_of(b)},
          .slot = kFinalSlot,
          .cost = 0};
}

void add_head_items(const ForwardCall& call, WorkItem item, std::int64_t item_rows,
                    std::vector<WorkItem>& items) {
  for (; item.q_begin < call.problem->q_len; item.q_begin += item.q_rows) {
    item.q_rows = std::min(item_rows, call.problem->q_len - item.q_begin);
    items.push_back(item);
  }
}

/// Rows of an item: as many as the call allows, fewer while threads would wait for work.
std::int64_t rows_per_item(const ForwardCall& call, HeadRange heads, int threads) {
  constexpr std::int64_t kItemsPerThread = 4;
  const Problem& problem = *call.problem;
  const std::int64_t rows = (heads.end - heads.begin) * problem.group() * problem.q_len;
  std::int64_t item_rows = call.q_tile_rows;
  while (item_rows > call.score_rows && rows < item_rows * kItemsPerThread * threads)
    item_rows -= call.score_rows;
  return item_rows;
}

std::vector<WorkItem> unsplit_items(const ForwardCall& call, HeadRange range, int threads) {
  const Problem& problem = *call.problem;
  const std::int64_t item_rows = rows_per_item(call, range, threads);
  const std::int64_t per_item = heads_per_item(call, item_rows);
  std::vector<WorkItem> items;
  for (std::int64_t unit = range.begin; unit < range.end; ++unit) {
    const std::int64_t b = unit / problem.kv_heads;
    const std::int64_t first = unit % problem.kv_heads * problem.group();
    for (std::int64_t g = 0; g < problem.group(); g += per_item)
      add_head_items(call, first_item(call, b, first + g, std::min(per_item, problem.group() - g)),
                     item_rows, items);
  }
  return items;
}

void split_item(const ForwardCall& call, const WorkItem& item, Schedule& schedule) {
  if (item.keys.size() <= call.split_tokens) {
    schedule.items.push_back(item);
    return;
  }
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

/// Neighbours share kv tiles, so they stay neighbours, last rows first: those of a causal mask cost
/// most. Where one item weighs much in a thread's share, the longest go first instead.
void order_items(std::vector<WorkItem>& items, int threads) {
  constexpr std::int64_t kLightShare = 16;
  std::int64_t all = 0, most = 0;
  for (const WorkItem& item : items) {
    all += item.cost;
    most = std::max(most, item.cost);
  }
  const bool is_even = most * kLightShare * threads <= all;
  std::stable_sort(items.begin(), items.end(), [&](const WorkItem& a, const WorkItem& b) {
    if (!is_even) return a.cost > b.cost;
    const auto place = [](const WorkItem& item) {
      return std::tuple(item.b, item.h, -item.q_begin, item.keys.begin);
    };
    return place(a) < place(b);
  });
}

}  // namespace

Schedule make_schedule(const ForwardCall& call, HeadRange heads, int threads) {
  Schedule schedule;
  std::vector<WorkItem> items = unsplit_items(call, heads, threads);
  const bool split =
      static_cast<int>(items.size()) < threads && call.problem->kv_len > call.split_tokens;
  if (!split)
    schedule.items = std::move(items);
  else
    for (const WorkItem& item : items) split_item(call, item, schedule);
  for (WorkItem& item : schedule.items) item.cost = visited_pairs(call, item);
  order_items(schedule.items, threads);
  return schedule;
}

}  // namespace tilewright::cpu
