#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tilewright::io {

/// A whole file in memory, mapped privately: writing to the bytes never reaches the file. The file
/// must not be shortened by somebody else while it is mapped.
class MappedFile {
 public:
  /// Throws Error{kIo} naming the file and the system's reason.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const noexcept { return path_; }
  std::byte* data() const noexcept { return data_; }
  std::size_t size_bytes() const noexcept { return size_bytes_; }

 private:
  std::string path_;
  std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
};

}  // namespace tilewright::io
