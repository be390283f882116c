#pragma once

#include <vector>

#include "backends/cuda/device/gpu.h"
#include "tilewright/engine.h"

namespace tilewright::cuda {

/// Device memory of one call, from the caller's allocator or the engine's pool, given back in
/// stream order when the call returns.
class Workspace {
 public:
  Workspace(Gpu& gpu, const HostServices& host, StreamHandle stream)
      : gpu_(gpu), host_(host), stream_(stream) {}
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  /// Aligned to 256 bytes. Throws Error{kDevice} where there is no memory.
  DeviceAddress take(std::size_t bytes);
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  struct Piece {
    DeviceAddress address = 0;
    std::size_t bytes = 0;
  };
  Gpu& gpu_;
  const HostServices& host_;
  StreamHandle stream_;
  std::vector<Piece> pieces_;
  std::size_t bytes_ = 0;
};

}  // namespace tilewright::cuda
