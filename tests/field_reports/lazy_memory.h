#pragma once

#include <cstddef>

namespace tilewright::cases {

/// Address space that is zero and takes memory only where it is written: tensors larger than the
/// machine.
class LazyMemory {
 public:
  explicit LazyMemory(std::size_t bytes);
  ~LazyMemory();
  LazyMemory(const LazyMemory&) = delete;
  LazyMemory& operator=(const LazyMemory&) = delete;
  void* data() const { return data_; }

 private:
  void* data_;
  std::size_t bytes_;
};

}  // namespace tilewright::cases
