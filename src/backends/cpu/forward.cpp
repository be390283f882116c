#include <algorithm>
#include <atomic>
#include <optional>

#include "backends/cpu/finish_rows.h"
#include "backends/cpu/forward_call.h"
#include "backends/cpu/packed_chunks.h"
#include "backends/cpu/row_tile.h"
#include "backends/cpu/work_items.h"
#include "backends/cpu/worker_pool.h"
#include "backends/cpu/workspace.h"

namespace tilewright::cpu {

namespace {

/// Packed keys and values held at a time; more heads go in rounds.
constexpr std::size_t kPackedBytesAtOnce = std::size_t{512} << 20;

/// (batch, kv head) pairs whose keys and values are packed at a time.
std::int64_t units_per_round(const ForwardLayout& layout, std::int64_t units) {
  const std::int64_t all = std::max<std::int64_t>(units, 1);
  if (layout.direct || layout.head_bytes == 0) return all;
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(kPackedBytesAtOnce / layout.head_bytes),
                                  1, all);
}

/// One call on its way: the parts of the workspace and the faults of its workers.
class Forward {
 public:
  Forward(const ForwardCall& call, const ForwardServices& services)
      : call_(call), services_(services), layout_(forward_layout(call)) {}

  std::size_t run(PassFault& fault) {
    const std::int64_t units = call_.problem->batch * call_.problem->kv_heads;
    const std::int64_t per_round = units_per_round(layout_, units);
    for (std::int64_t begin = 0; begin < units; begin += per_round)
      run_round({begin, std::min(begin + per_round, units)});
    for (const PassFault& each : faults_)
      if (each.node >= 0 && fault.node < 0) fault = each;
    return peak_bytes_;
  }

 private:
  void run_round(HeadRange heads) {
    const Schedule schedule = make_schedule(call_, heads, services_.workers.threads());
    const std::int64_t workers = std::max<std::int64_t>(
        1, std::min<std::int64_t>(services_.workers.threads(),
                                  static_cast<std::int64_t>(schedule.items.size())));
    const std::size_t packed_bytes =
        layout_.direct ? 0 : PackedChunks::bytes(layout_, heads.end - heads.begin);
    const std::size_t worker_bytes = static_cast<std::size_t>(workers) * layout_.worker_bytes;
    const std::size_t bytes = packed_bytes + worker_bytes +
                              static_cast<std::size_t>(schedule.slots) * layout_.partial_bytes;
    peak_bytes_ = std::max(peak_bytes_, bytes);
    const auto lease = services_.workspace.take(bytes, services_.host);
    char* const scratch = lease.data() + packed_bytes;
    char* const partials = scratch + worker_bytes;
    std::optional<PackedChunks> packed;
    if (!layout_.direct) packed.emplace(call_, layout_, heads, schedule.items, lease.data());
    compute(schedule, packed ? &*packed : nullptr, scratch, partials, workers);
    merge(schedule, partials);
  }

  void compute(const Schedule& schedule, PackedChunks* packed, char* scratch, char* partials,
               std::int64_t workers) {
    faults_.assign(static_cast<std::size_t>(workers), PassFault{});
    std::atomic<std::size_t> next{0};
    services_.workers.run(workers, services_.host, [&](std::int64_t worker) {
      RowTile tile(call_, layout_,
                   scratch + static_cast<std::size_t>(worker) * layout_.worker_bytes);
      PassFault& fault = faults_[static_cast<std::size_t>(worker)];
      for (std::size_t i = next++; i < schedule.items.size(); i = next++) {
        const WorkItem& item = schedule.items[i];
        tile.run(item, packed, fault);
        if (item.slot == kFinalSlot)
          finish_rows(call_, layout_, item, tile.state());
        else
          store_partial(layout_, item.rows(), tile.state(),
                        partial_state(layout_, partials + static_cast<std::size_t>(item.slot) *
                                                              layout_.partial_bytes));
      }
    });
  }

  void merge(const Schedule& schedule, char* partials) const {
    services_.workers.run(
        static_cast<std::int64_t>(schedule.merges.size()), services_.host, [&](std::int64_t i) {
          const MergeItem& merge = schedule.merges[static_cast<std::size_t>(i)];
          const auto slot = [&](std::int64_t s) {
            return partial_state(
                layout_,
                partials + static_cast<std::size_t>(merge.first_slot + s) * layout_.partial_bytes);
          };
          for (std::int64_t s = 1; s < merge.slots; ++s)
            merge_partial(call_, layout_, merge.item.rows(), slot(s), slot(0));
          finish_rows(call_, layout_, merge.item, slot(0));
        });
  }

  const ForwardCall& call_;
  const ForwardServices& services_;
  const ForwardLayout layout_;
  std::vector<PassFault> faults_;
  std::size_t peak_bytes_ = 0;
};

}  // namespace

std::size_t forward_workspace_bytes(const ForwardCall& call, int threads) {
  const ForwardLayout layout = forward_layout(call);
  const Problem& problem = *call.problem;
  const std::int64_t units = problem.batch * problem.kv_heads;
  const auto packed =
      layout.direct ? 0 : PackedChunks::bytes(layout, units_per_round(layout, units));
  // Keys are split only while there are fewer items than threads.
  const std::int64_t splits = (problem.kv_len + call.split_tokens - 1) / call.split_tokens;
  const auto slots =
      splits > 1 ? static_cast<std::size_t>(threads) * static_cast<std::size_t>(splits) : 0;
  return packed + static_cast<std::size_t>(threads) * layout.worker_bytes +
         slots * layout.partial_bytes;
}

std::size_t run_forward(const ForwardCall& call, const ForwardServices& services,
                        PassFault& fault) {
  return Forward(call, services).run(fault);
}

}  // namespace tilewright::cpu
