#include "io/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "io/system_error.h"

namespace tilewright::io {

OutputFile::OutputFile(const std::string& path) : path_(path), temporary_(path + ".XXXXXX") {
  fd_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
  if (fd_ < 0) raise_system_error("write", path);
}

OutputFile::~OutputFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

void OutputFile::write(const void* data, std::size_t size_bytes) {
  const char* next = static_cast<const char*>(data);
  while (size_bytes > 0) {
    const ssize_t written = ::write(fd_, next, size_bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) raise_system_error("write", path_);
    next += written;
    size_bytes -= static_cast<std::size_t>(written);
  }
}

void OutputFile::commit() {
  constexpr mode_t kReadableByAll = 0644;
  if (::fchmod(fd_, kReadableByAll) != 0 || ::fsync(fd_) != 0) raise_system_error("write", path_);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) raise_system_error("write", path_);
  ::close(fd_);
  fd_ = -1;
}

void write_text_file(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace tilewright::io
