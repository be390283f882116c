#include "backends/cpu/worker_pool.h"

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

namespace tilewright::cpu {

namespace {

/// oneTBB orders what the caller wrote before the items, and the items before what the caller reads
/// after them; a race detector cannot see that inside a library that it did not instrument. These
/// two atomics state the same order in our own code.
class Handover {
 public:
  void give() noexcept { given_.store(true, std::memory_order_release); }
  void run(const std::function<void(std::int64_t)>& body, std::int64_t item) {
    given_.load(std::memory_order_acquire);
    body(item);
    done_.fetch_add(1, std::memory_order_release);
  }
  void take() const noexcept { done_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> given_{false};
  std::atomic<std::int64_t> done_{0};
};

}  // namespace

struct WorkerPool::Arena {
  // Asking oneTBB for more threads than it may run makes it print a warning.
  explicit Arena(int threads) : arena(std::min(threads, tbb::info::default_concurrency())) {}
  tbb::task_arena arena;
};

WorkerPool::WorkerPool(int threads)
    : threads_(threads), owner_process_(getpid()), arena_(std::make_unique<Arena>(threads)) {}

WorkerPool::~WorkerPool() = default;

void WorkerPool::run(std::int64_t count, const HostServices& host,
                     const std::function<void(std::int64_t)>& body) const {
  if (host.parallel_for && count > 1) return host.parallel_for(count, body);
  if (threads_ == 1 || count <= 1 || getpid() != owner_process_) {
    for (std::int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  Handover handover;
  handover.give();
  // Isolation keeps a waiting caller from picking up a task of another call, whose scratch it would
  // clobber.
  arena_->arena.execute([&] {
    tbb::this_task_arena::isolate([&] {
      tbb::parallel_for(
          tbb::blocked_range<std::int64_t>(0, count, 1),
          [&](const tbb::blocked_range<std::int64_t>& range) {
            for (std::int64_t i = range.begin(); i != range.end(); ++i) handover.run(body, i);
          },
          tbb::simple_partitioner());
    });
  });
  handover.take();
}

}  // namespace tilewright::cpu
