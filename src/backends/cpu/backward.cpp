#include <algorithm>
#include <atomic>

#include "backends/cpu/backward_call.h"
#include "backends/cpu/backward_footprint.h"
#include "backends/cpu/capture_gradients.h"
#include "backends/cpu/key_strip.h"
#include "backends/cpu/worker_pool.h"
#include "backends/cpu/workspace.h"

namespace tilewright::cpu {

namespace {

/// One call on its way.
class Backward {
 public:
  Backward(const BackwardCall& call, const ForwardServices& services)
      : call_(call), services_(services), footprint_(call), layout_(footprint_.layout()) {}

  std::size_t run(PassFault& fault) {
    const std::int64_t units = footprint_.units();
    const std::int64_t per_round = footprint_.units_per_round();
    const auto lease = services_.workspace.take(footprint_.sums_bytes(), services_.host);
    const CaptureGradients sums(call_, footprint_.sharing(), lease.data());
    sums.clear(services_.workers, services_.host);
    for (std::int64_t begin = 0; begin < units; begin += per_round)
      run_round({begin, std::min(begin + per_round, units)}, sums);
    sums.store(services_.workers, services_.host);
    for (const PassFault& each : faults_)
      if (each.node >= 0 && fault.node < 0) fault = each;
    return footprint_.peak_bytes(services_.workers.threads());
  }

 private:
  void run_round(UnitRange range, const CaptureGradients& sums) {
    StripOrder order(footprint_.shape(range), footprint_.sharing(), call_.claims_unit_by_unit);
    const BackwardFootprint::Round round = footprint_.round(range, services_.workers.threads());
    const auto lease = services_.workspace.take(round.bytes, services_.host);
    const UnitBlocks units{
        .blocks = &footprint_.blocks(), .first_unit = range.begin, .memory = lease.data()};
    char* const scratch = lease.data() + round.rows_bytes;
    faults_.resize(std::max(faults_.size(), static_cast<std::size_t>(round.workers)));
    prepare(units, round.blocks, scratch, round.workers);
    compute(units, order, sums, scratch, round.workers);
    if (call_.outputs->d_query) store_queries(units, round.blocks);
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
  const BackwardFootprint footprint_;
  const BackwardLayout& layout_;
  std::vector<PassFault> faults_;
};

}  // namespace

std::size_t run_backward(const BackwardCall& call, const ForwardServices& services,
                         PassFault& fault) {
  return Backward(call, services).run(fault);
}

}  // namespace tilewright::cpu
