#include "backends/cpu/worker_pool.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace tilewright::cpu {

namespace {

/// One call of run: whoever works on it takes the next item until none is left.
class Loop {
 public:
  Loop(std::int64_t count, const std::function<void(std::int64_t)>& body)
      : count_(count), body_(body) {}

  void work() noexcept {
    for (std::int64_t i = next_++; i < count_; i = next_++) {
      try {
        body_(i);
      } catch (...) {
        fail(std::current_exception());
      }
    }
  }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  int helpers = 0;  ///< threads of the pool at work on it; guarded by the pool's mutex

 private:
  /// Keeps the first exception and leaves the items that nobody took.
  void fail(std::exception_ptr failure) {
    const std::lock_guard lock(failure_mutex_);
    if (!failure_) failure_ = std::move(failure);
    next_ = count_;
  }

  const std::int64_t count_;
  const std::function<void(std::int64_t)>& body_;
  std::atomic<std::int64_t> next_{0};
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

}  // namespace

/// The threads beside the caller, and the loops that they may join.
struct WorkerPool::Crew {
  explicit Crew(int helpers) {
    for (int i = 0; i < helpers; ++i) threads.emplace_back([this] { help(); });
  }

  ~Crew() {
    {
      const std::lock_guard lock(mutex);
      closing = true;
    }
    changed.notify_all();
    for (std::thread& thread : threads) thread.join();
  }

  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  void run(Loop& loop) {
    {
      const std::lock_guard lock(mutex);
      open.push_back(&loop);
    }
    changed.notify_all();
    loop.work();
    std::unique_lock lock(mutex);
    std::erase(open, &loop);
    changed.wait(lock, [&] { return loop.helpers == 0; });
  }

 private:
  void help() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return closing || !open.empty(); });
      if (closing) return;
      Loop& loop = *open.front();
      ++loop.helpers;
      lock.unlock();
      loop.work();
      lock.lock();
      std::erase(open, &loop);
      if (--loop.helpers == 0) changed.notify_all();
    }
  }

  std::mutex mutex;
  std::condition_variable changed;  ///< open, closing, or a loop's helpers
  std::vector<Loop*> open;
  bool closing = false;
  std::vector<std::thread> threads;
};

WorkerPool::WorkerPool(int threads)
    : threads_(threads),
      owner_process_(getpid()),
      crew_(std::make_unique<Crew>(std::max(threads - 1, 0))) {}

WorkerPool::~WorkerPool() {
  // Neither the threads nor whoever waits on the condition exist in a forked child: waiting for
  // them would not end.
  if (getpid() == owner_process_) return;
  [[maybe_unused]] const Crew* const left_behind = crew_.release();
}

void WorkerPool::run(std::int64_t count, const HostServices& host,
                     const std::function<void(std::int64_t)>& body) const {
  if (host.parallel_for && count > 1) return host.parallel_for(count, body);
  if (threads_ == 1 || count <= 1 || getpid() != owner_process_) {
    for (std::int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  Loop loop(count, body);
  crew_->run(loop);
  loop.rethrow();
}

}  // namespace tilewright::cpu
