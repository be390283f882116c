#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "tilewright/engine.h"

namespace tilewright::cpu {

/// Scratch memory of one call, aligned to 64 bytes: from the host's allocator, or from a pool that
/// keeps blocks between calls so that a call does not pay for fresh pages. Contents are undefined.
class WorkspacePool {
 public:
  WorkspacePool() = default;
  ~WorkspacePool();
  WorkspacePool(const WorkspacePool&) = delete;
  WorkspacePool& operator=(const WorkspacePool&) = delete;

  class Lease;
  /// Throws Error{kUnsupported} where the memory cannot be had.
  Lease take(std::size_t bytes, const HostServices& host);

 private:
  struct Block {
    void* memory;
    std::size_t bytes;
  };
  Block allocate(std::size_t bytes);
  void give_back(Block block);

  std::mutex mutex_;
  std::vector<Block> free_;
};

/// Owns one block until the end of a call.
class WorkspacePool::Lease {
 public:
  Lease(WorkspacePool& pool, const HostServices& host, Block block, bool from_host)
      : pool_(pool), host_(host), block_(block), from_host_(from_host) {}
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  char* data() const noexcept { return static_cast<char*>(block_.memory); }

 private:
  WorkspacePool& pool_;
  const HostServices& host_;
  Block block_;
  bool from_host_;
};

}  // namespace tilewright::cpu
