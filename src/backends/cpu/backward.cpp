#include <algorithm>
#include <memory>
#include <optional>

#include "backends/cpu/backward_call.h"
#include "backends/cpu/capture_gradients.h"
#include "backends/cpu/key_strip.h"
#include "backends/cpu/worker_pool.h"
#include "backends/cpu/workspace.h"

namespace tilewright::cpu {

namespace {

/// Packed rows held at a time; more units go in rounds.
constexpr std::size_t kPackedBytesAtOnce = std::size_t{512} << 20;

/// A run of (batch, kv head) pairs.
struct UnitRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// One call on its way.
class Backward {
 public:
  Backward(const BackwardCall& call, const ForwardServices& services)
      : call_(call),
        services_(services),
        layout_(backward_layout(call)),
        blocks_(row_blocks(call)),
        sharing_(capture_sharing(call, shape({0, units()}))) {}

  std::size_t run(PassFault& fault) {
    const std::int64_t per_round = units_per_round();
    const std::size_t sums_bytes = CaptureGradients::bytes(call_, sharing_);
    const auto lease = services_.workspace.take(sums_bytes, services_.host);
    const CaptureGradients sums(call_, sharing_, lease.data());
    sums.clear(services_.workers, services_.host);
    for (std::int64_t begin = 0; begin < units(); begin += per_round)
      run_round({begin, std::min(begin + per_round, units())}, sums);
    sums.store(services_.workers, services_.host);
    for (const PassFault& each : faults_)
      if (each.node >= 0 && fault.node < 0) fault = each;
    return sums_bytes + peak_bytes_;
  }

 private:
  std::int64_t units() const { return call_.problem->kv_batch * call_.problem->kv_heads; }
  std::size_t unit_bytes() const { return blocks_.size() * layout_.block_bytes; }

  std::int64_t units_per_round() const {
    const std::int64_t all = std::max<std::int64_t>(units(), 1);
    if (unit_bytes() == 0) return all;
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(kPackedBytesAtOnce / unit_bytes()), 1,
                                    all);
  }

  StripOrder::Shape shape(UnitRange units) const {
    const Problem& problem = *call_.problem;
    const std::int64_t tile = call_.kv_tile_tokens;
    return {.units = units.end - units.begin,
            .heads = std::max<std::int64_t>(problem.kv_heads, 1),
            .first_unit = units.begin,
            .chunks = (problem.kv_len + tile - 1) / tile,
            .blocks = static_cast<std::int64_t>(blocks_.size())};
  }

  void run_round(UnitRange range, const CaptureGradients& sums) {
    StripOrder order(shape(range), sharing_, call_.claims_unit_by_unit);
    const std::int64_t blocks = (range.end - range.begin) * shape(range).blocks;
    const std::int64_t tasks = std::max(order.count(), blocks);
    const std::int64_t workers =
        std::clamp<std::int64_t>(services_.workers.threads(), 1, std::max<std::int64_t>(tasks, 1));
    const std::size_t rows_bytes = static_cast<std::size_t>(blocks) * layout_.block_bytes;
    const std::size_t bytes = rows_bytes + static_cast<std::size_t>(workers) * layout_.worker_bytes;
    peak_bytes_ = std::max(peak_bytes_, bytes);
    const auto lease = services_.workspace.take(bytes, services_.host);
    const UnitBlocks units{.blocks = &blocks_, .first_unit = range.begin, .memory = lease.data()};
    char* const scratch = lease.data() + rows_bytes;
    faults_.resize(std::max(faults_.size(), static_cast<std::size_t>(workers)));
    prepare(units, blocks, scratch, workers);
    compute(units, order, sums, scratch, workers);
    if (call_.outputs->d_query) store_queries(units, blocks);
  }

  void prepare(const UnitBlocks& units, std::int64_t blocks, char* scratch, std::int64_t workers) {
    std::atomic<std::int64_t> next{0};
    services_.workers.run(workers, services_.host, [&](std::int64_t worker) {
      char* const staging = scratch + static_cast<std::size_t>(worker) * layout_.worker_bytes;
      for (std::int64_t i = next++; i < blocks; i = next++) {
        const std::int64_t unit = i / units.per_unit();
        const std::int64_t block = i % units.per_unit();
        prepare_block(call_, layout_, block_place(call_, units, unit, block),
                      block_memory(layout_, units, unit, block), staging);
      }
    });
  }

  void compute(const UnitBlocks& units, StripOrder& order, const CaptureGradients& sums,
               char* scratch, std::int64_t workers) {
    services_.workers.run(workers, services_.host, [&](std::int64_t worker) {
      const auto at = static_cast<std::size_t>(worker);
      KeyStrip strip(call_, layout_, scratch + at * layout_.worker_bytes);
      for (std::int64_t i = order.claim(); i < order.count(); i = order.claim()) {
        const StripOrder::Strip claimed = order.strip(i);
        strip.run(claimed, units, order, sums.sums(order, claimed), faults_[at]);
      }
    });
  }

  void store_queries(const UnitBlocks& units, std::int64_t blocks) const {
    services_.workers.run(blocks, services_.host, [&](std::int64_t i) {
      const std::int64_t unit = i / units.per_unit();
      const std::int64_t block = i % units.per_unit();
      store_d_query(call_, layout_, block_place(call_, units, unit, block),
                    block_memory(layout_, units, unit, block));
    });
  }

  const BackwardCall& call_;
  const ForwardServices& services_;
  const BackwardLayout layout_;
  const std::vector<RowBlock> blocks_;
  const std::vector<CaptureSharing> sharing_;
  std::vector<PassFault> faults_;
  std::size_t peak_bytes_ = 0;
};

}  // namespace

std::size_t run_backward(const BackwardCall& call, const ForwardServices& services,
                         PassFault& fault) {
  return Backward(call, services).run(fault);
}

}  // namespace tilewright::cpu
