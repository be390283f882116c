#pragma once

#include <functional>
#include <string>

#include "backends/cuda/driver/dynamic_library.h"
#include "device/gpu_fixture.h"

namespace tilewright::device_tests {

/// A stream of the first GPU that does not wait for the default one.
class Stream {
 public:
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cuda::StreamHandle handle() const { return handle_; }
  void synchronise() const;

 private:
  cuda::StreamHandle handle_ = nullptr;
};

/// What `work` enqueued on a stream, as a CUDA graph.
class Graph {
 public:
  Graph(const Stream& stream, const std::function<void()>& work);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void replay(const Stream& stream) const;

 private:
  struct Table {
    int (*begin)(cuda::StreamHandle stream, int mode);
    int (*end)(cuda::StreamHandle stream, void** graph);
    int (*instantiate)(void** executable, void* graph, unsigned long long flags);
    int (*launch)(void* executable, cuda::StreamHandle stream);
    int (*destroy)(void* graph);
    int (*destroy_executable)(void* executable);
  };
  static const Table& table();
  void* graph_ = nullptr;
  void* executable_ = nullptr;
};

}  // namespace tilewright::device_tests
