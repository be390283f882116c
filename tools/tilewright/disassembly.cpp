#include "disassembly.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tilewright/error.h"

namespace tilewright::cli {

namespace {

namespace fs = std::filesystem;

/// A file of this process that goes away with its object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& bytes)
      : path_(fs::temp_directory_path() / ("tilewright_" + std::to_string(::getpid()) + ".cubin")) {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~TemporaryFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

}  // namespace

std::string disassembled(const std::string& cubin) {
  const TemporaryFile file(cubin);
  const std::string command = "nvdisasm --print-code '" + file.path() + "' 2>&1";
  FILE* const pipe = ::popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4096> part;
  while (pipe != nullptr) {
    const std::size_t count = std::fread(part.data(), 1, part.size(), pipe);
    if (count == 0) break;
    text.append(part.data(), count);
  }
  if (pipe != nullptr && ::pclose(pipe) == 0) return text;
  throw Error({.code = ErrorCode::kIo,
               .what = "the machine code cannot be shown",
               .where = "--sass",
               .expected = "nvdisasm of a CUDA toolkit on the PATH, and a GPU kernel",
               .got = text,
               .hint = {}});
}

}  // namespace tilewright::cli
