#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/driver/dynamic_library.h"

namespace tilewright::cuda {

/// One run of the compiler.
struct CompileJob {
  std::string file_name;  ///< as diagnostics show it
  std::string text;       ///< self-contained
  std::vector<std::string> options;
  bool to_ptx = false;  ///< PTX instead of a cubin
};

struct CompileResult {
  bool succeeded = false;
  std::string bytes;
  std::string log;
};

/// An opened NVRTC. Thread-safe.
class Nvrtc {
 public:
  /// Opens the library at `path` (with its builtins beside it) or by soname. Absent with `why`.
  static std::shared_ptr<const Nvrtc> open(const std::string& path, std::string& why);
  /// The one that the process has loaded under `path` or soname.
  static std::shared_ptr<const Nvrtc> adopt(const std::string& path, std::string& why);

  int major() const noexcept { return major_; }
  int minor() const noexcept { return minor_; }
  std::string version_text() const;
  const std::string& path() const noexcept { return path_; }

  /// Capabilities (90 for sm_90) that it compiles for, ascending.
  const std::vector<int>& architectures() const noexcept { return architectures_; }

  CompileResult compile(const CompileJob& job) const;

 private:
  using ProgramHandle = struct Program_st*;
  struct Table {
    int (*version)(int* major, int* minor);
    const char* (*error_string)(int status);
    int (*arch_count)(int* count);
    int (*archs)(int* archs);
    int (*create)(ProgramHandle* program, const char* text, const char* name, int headers,
                  const char* const* header_texts, const char* const* header_names);
    int (*destroy)(ProgramHandle* program);
    int (*compile)(ProgramHandle program, int count, const char* const* options);
    int (*log_size)(ProgramHandle program, std::size_t* bytes);
    int (*log)(ProgramHandle program, char* text);
    int (*cubin_size)(ProgramHandle program, std::size_t* bytes);
    int (*cubin)(ProgramHandle program, char* bytes);
    int (*ptx_size)(ProgramHandle program, std::size_t* bytes);
    int (*ptx)(ProgramHandle program, char* bytes);
  };

  Nvrtc(DynamicLibrary library, std::optional<DynamicLibrary> builtins)
      : library_(std::move(library)), builtins_(std::move(builtins)), table_() {}
  static std::shared_ptr<const Nvrtc> finish(std::shared_ptr<Nvrtc> nvrtc, std::string& why);
  bool resolve();

  DynamicLibrary library_;
  std::optional<DynamicLibrary> builtins_;  ///< found by its soname once it is in the process
  Table table_;
  std::string path_;
  int major_ = 0;
  int minor_ = 0;
  std::vector<int> architectures_;
};

}  // namespace tilewright::cuda
