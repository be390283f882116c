#include "backends/cuda/device/workspace.h"

#include "tilewright/error.h"

namespace tilewright::cuda {

Workspace::~Workspace() {
  for (const Piece& piece : pieces_) {
    if (host_.deallocate_device)
      host_.deallocate_device(reinterpret_cast<void*>(piece.address), piece.bytes,
                              {DeviceKind::kCuda, gpu_.facts().ordinal}, stream_);
    else
      gpu_.deallocate(piece.address, stream_);
  }
}

DeviceAddress Workspace::take(std::size_t bytes) {
  Piece piece{.address = 0, .bytes = bytes};
  if (host_.allocate_device && host_.deallocate_device)
    piece.address = reinterpret_cast<DeviceAddress>(
        host_.allocate_device(bytes, {DeviceKind::kCuda, gpu_.facts().ordinal}, stream_));
  else
    piece.address = gpu_.allocate(bytes, stream_);
  if (piece.address == 0)
    throw Error({.code = ErrorCode::kDevice,
                 .what = "the caller's allocator gave no workspace",
                 .where = "HostServices::allocate_device",
                 .expected = std::to_string(bytes) +
                             " bytes on cuda:" + std::to_string(gpu_.facts().ordinal),
                 .got = "null",
                 .hint = "Attention::workspace_bytes() tells the need beforehand"});
  pieces_.push_back(piece);
  bytes_ += bytes;
  return piece.address;
}

}  // namespace tilewright::cuda
