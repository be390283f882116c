#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "base/digest.h"

namespace tilewright::cache {

/// Loaded kernels by their fast key. Racing first calls make each kernel once: the others wait for
/// it. A failure is not kept: the next call tries again.
template <class Kernel>
class MemoryStore {
 public:
  using Pointer = std::shared_ptr<const Kernel>;

  /// The kernel of `key`, made by `make` if absent. Second: whether it was already there.
  std::pair<Pointer, bool> get(const Digest& key, const std::function<Pointer()>& make) {
    std::unique_lock lock(mutex_);
    for (;;) {
      const auto found = kernels_.find(key);
      if (found == kernels_.end()) break;
      if (found->second) return {found->second, true};
      made_.wait(lock);
    }
    kernels_.emplace(key, nullptr);
    lock.unlock();
    return {finish(key, make), false};
  }

  bool contains(const Digest& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = kernels_.find(key);
    return found != kernels_.end() && found->second != nullptr;
  }

 private:
  Pointer finish(const Digest& key, const std::function<Pointer()>& make) {
    Pointer kernel;
    try {
      kernel = make();
    } catch (...) {
      publish(key, nullptr);
      throw;
    }
    publish(key, kernel);
    return kernel;
  }

  void publish(const Digest& key, Pointer kernel) {
    const std::lock_guard lock(mutex_);
    if (kernel)
      kernels_[key] = std::move(kernel);
    else
      kernels_.erase(key);
    made_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable made_;
  std::map<Digest, Pointer> kernels_;
};

}  // namespace tilewright::cache
