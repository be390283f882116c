#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "tilewright/engine.h"

namespace tilewright::cpu {

/// Runs loops on a bounded number of threads: those of oneTBB (workers/tbb/), or of the C++ library
/// where ThreadSanitizer must see each hand-over (workers/threads/), or the host's parallel_for
/// where it gave one. In a child process after fork the pool's threads do not exist, so loops run
/// on the calling thread alone.
class WorkerPool {
 public:
  explicit WorkerPool(int threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int threads() const noexcept { return threads_; }

  /// Calls body(0 .. count-1), each once, on at most threads() threads; rethrows the first
  /// exception.
  void run(std::int64_t count, const HostServices& host,
           const std::function<void(std::int64_t)>& body) const;

 private:
  struct Crew;
  int threads_;
  int owner_process_;
  std::unique_ptr<Crew> crew_;
};

}  // namespace tilewright::cpu
