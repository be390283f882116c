#include "backends/cpu/workspace.h"

#include "tilewright/error.h"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace tilewright::cpu {

namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kKeptBlocks = 16;

[[noreturn]] void raise_out_of_memory(std::size_t bytes) {
  throw Error({.code = ErrorCode::kUnsupported,
               .what = "not enough memory for the workspace",
               .where = "CPU backend",
               .expected = std::to_string(bytes) + " bytes",
               .got = "none",
               .hint = "the workspace grows with keys and values: call with fewer batch rows or "
                       "heads at a time"});
}

}  // namespace

WorkspacePool::~WorkspacePool() {
  for (const Block& block : free_) std::free(block.memory);
}

WorkspacePool::Lease WorkspacePool::take(std::size_t bytes, const HostServices& host) {
  const std::size_t rounded =
      (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  if (!host.allocate) return {*this, host, allocate(rounded), false};
  void* memory = host.allocate(rounded);
  if (memory == nullptr) raise_out_of_memory(rounded);
  return {*this, host, {memory, rounded}, true};
}

WorkspacePool::Block WorkspacePool::allocate(std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    const auto fits = std::find_if(free_.begin(), free_.end(),
                                   [bytes](const Block& b) { return b.bytes >= bytes; });
    if (fits != free_.end()) {
      const Block block = *fits;
      free_.erase(fits);
      return block;
    }
  }
  void* memory = std::aligned_alloc(kAlignment, bytes);
  if (memory == nullptr) raise_out_of_memory(bytes);
  return {memory, bytes};
}

void WorkspacePool::give_back(Block block) {
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(block);
    std::sort(free_.begin(), free_.end(),
              [](const Block& a, const Block& b) { return a.bytes < b.bytes; });
    if (free_.size() <= kKeptBlocks) return;
    // The smallest goes: every call it could serve a larger one can serve too.
    block = free_.front();
    free_.erase(free_.begin());
  }
  std::free(block.memory);
}

WorkspacePool::Lease::~Lease() {
  if (!from_host_)
    pool_.give_back(block_);
  else if (host_.deallocate)
    host_.deallocate(block_.memory, block_.bytes);
}

}  // namespace tilewright::cpu
