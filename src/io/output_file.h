#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tilewright::io {

/// A file that appears whole or not at all: bytes go to a temporary neighbour, commit() renames it.
class OutputFile {
 public:
  /// Throws Error{kIo} where the folder cannot be written.
  explicit OutputFile(const std::string& path);
  /// Removes what was not committed.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* data, std::size_t size_bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// Throws Error{kIo}, so that a full disk is noticed.
  void commit();

 private:
  std::string path_;
  std::string temporary_;
  int fd_ = -1;
};

/// Writes `text` as the whole content of `path`.
void write_text_file(const std::string& path, std::string_view text);

}  // namespace tilewright::io
