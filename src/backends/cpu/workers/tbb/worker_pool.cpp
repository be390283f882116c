#include "backends/cpu/worker_pool.h"

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <unistd.h>

#include <algorithm>

namespace tilewright::cpu {

struct WorkerPool::Crew {
  // Asking oneTBB for more threads than it may run makes it print a warning.
  explicit Crew(int threads) : arena(std::min(threads, tbb::info::default_concurrency())) {}
  tbb::task_arena arena;
};

WorkerPool::WorkerPool(int threads)
    : threads_(threads), owner_process_(getpid()), crew_(std::make_unique<Crew>(threads)) {}

WorkerPool::~WorkerPool() = default;

void WorkerPool::run(std::int64_t count, const HostServices& host,
                     const std::function<void(std::int64_t)>& body) const {
  if (host.parallel_for && count > 1) return host.parallel_for(count, body);
  if (threads_ == 1 || count <= 1 || getpid() != owner_process_) {
    for (std::int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  // Isolation keeps a waiting caller from picking up a task of another call, whose scratch it would
  // clobber.
  crew_->arena.execute([&] {
    tbb::this_task_arena::isolate([&] {
      tbb::parallel_for(
          tbb::blocked_range<std::int64_t>(0, count, 1),
          [&](const tbb::blocked_range<std::int64_t>& range) {
            for (std::int64_t i = range.begin(); i != range.end(); ++i) body(i);
          },
          tbb::simple_partitioner());
    });
  });
}

}  // namespace tilewright::cpu
