#include "backends/cuda/sources/kernel_sources.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "backends/cuda/embedded_files.h"
#include "tilewright/error.h"

namespace tilewright::cuda {

namespace {

constexpr std::string_view kInclude = "#include \"";
constexpr std::string_view kEmittedName = "emitted.cu";

std::optional<std::string> embedded(const std::string& path) {
  for (const EmbeddedFile& file : embedded_files())
    if (file.path == path) return std::string(file.text);
  return std::nullopt;
}

std::optional<std::string> on_disk(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// Replaces includes depth first; a file appears once, as #pragma once asks.
class Inliner {
 public:
  explicit Inliner(const std::string& folder) : folder_(folder) {}

  void append(std::string_view text, const std::string& name) {
    std::size_t line_number = 0;
    mark(1, name);
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      ++line_number;
      if (line.starts_with(kInclude)) {
        const std::string path(line.substr(kInclude.size(), line.rfind('"') - kInclude.size()));
        if (seen_.insert(path).second) append(read(path, name), path);
        mark(line_number + 1, name);
      } else if (line != "#pragma once") {
        result_.append(line).append("\n");
      } else {
        result_.append("\n");
      }
    }
  }
  std::string take() { return std::move(result_); }

 private:
  void mark(std::size_t line, const std::string& name) {
    result_ += "#line " + std::to_string(line) + " \"" + name + "\"\n";
  }

  std::string read(const std::string& path, const std::string& from) const {
    std::optional<std::string> text =
        folder_.empty() ? embedded(path) : on_disk(folder_ + "/" + path);
    if (text) return std::move(*text);
    throw Error({.code = ErrorCode::kIo,
                 .what = "a kernel source file is missing",
                 .where = from,
                 .expected = folder_.empty() ? path : folder_ + "/" + path,
                 .got = "no such file",
                 .hint = "TILEWRIGHT_KERNEL_DIR must hold all files of kernels/cuda"});
  }

  const std::string& folder_;
  std::set<std::string> seen_;
  std::string result_;
};

}  // namespace

KernelSources::KernelSources(std::string folder) : folder_(std::move(folder)) {
  std::error_code error;
  if (folder_.empty() || std::filesystem::is_directory(folder_, error)) return;
  throw Error({.code = ErrorCode::kIo,
               .what = "the folder of kernel sources is not there",
               .where = "kernel_dir (TILEWRIGHT_KERNEL_DIR)",
               .expected = "a folder that holds attention/, pipeline/, ptx/ and tile/",
               .got = folder_,
               .hint = "kernels/cuda of a checkout is such a folder"});
}

std::string KernelSources::inlined(std::string_view text) const {
  Inliner inliner(folder_);
  inliner.append(text, std::string(kEmittedName));
  return inliner.take();
}

std::string KernelSources::origin() const {
  return folder_.empty() ? "inside the library" : folder_;
}

}  // namespace tilewright::cuda
