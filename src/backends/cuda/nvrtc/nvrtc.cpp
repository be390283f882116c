#include "backends/cuda/nvrtc/nvrtc.h"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace tilewright::cuda {

namespace fs = std::filesystem;

namespace {

/// NVRTC opens its builtins by soname alone, which fails where no search path leads to them.
std::optional<DynamicLibrary> open_builtins(const std::string& path) {
  std::error_code error;
  const fs::path folder = fs::path(path).parent_path();
  std::string ignored;
  for (fs::directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error)) {
    const std::string name = file->path().filename().string();
    if (name.starts_with("libnvrtc-builtins.so."))
      return DynamicLibrary::open(file->path().string(), ignored);
  }
  return std::nullopt;
}

}  // namespace

std::shared_ptr<const Nvrtc> Nvrtc::open(const std::string& path, std::string& why) {
  std::optional<DynamicLibrary> builtins = open_builtins(path);
  std::optional<DynamicLibrary> library = DynamicLibrary::open(path, why);
  if (!library) return nullptr;
  return finish(std::shared_ptr<Nvrtc>(new Nvrtc(std::move(*library), std::move(builtins))), why);
}

std::shared_ptr<const Nvrtc> Nvrtc::adopt(const std::string& path, std::string& why) {
  std::optional<DynamicLibrary> library = DynamicLibrary::already_loaded(path);
  if (!library) {
    why = path + ": not loaded in this process";
    return nullptr;
  }
  return finish(std::shared_ptr<Nvrtc>(new Nvrtc(std::move(*library), open_builtins(path))), why);
}

bool Nvrtc::resolve() {
  const DynamicLibrary& from = library_;
  Table& t = table_;
  return from.resolve("nvrtcVersion", t.version) &&
         from.resolve("nvrtcGetErrorString", t.error_string) &&
         from.resolve("nvrtcGetNumSupportedArchs", t.arch_count) &&
         from.resolve("nvrtcGetSupportedArchs", t.archs) &&
         from.resolve("nvrtcCreateProgram", t.create) &&
         from.resolve("nvrtcDestroyProgram", t.destroy) &&
         from.resolve("nvrtcCompileProgram", t.compile) &&
         from.resolve("nvrtcGetProgramLogSize", t.log_size) &&
         from.resolve("nvrtcGetProgramLog", t.log) &&
         from.resolve("nvrtcGetCUBINSize", t.cubin_size) &&
         from.resolve("nvrtcGetCUBIN", t.cubin) && from.resolve("nvrtcGetPTXSize", t.ptx_size) &&
         from.resolve("nvrtcGetPTX", t.ptx);
}

std::shared_ptr<const Nvrtc> Nvrtc::finish(std::shared_ptr<Nvrtc> nvrtc, std::string& why) {
  if (!nvrtc->resolve()) {
    why = "too old: it lacks functions that NVRTC has since CUDA 11.2";
    return nullptr;
  }
  int count = 0;
  const bool works = nvrtc->table_.version(&nvrtc->major_, &nvrtc->minor_) == 0 &&
                     nvrtc->table_.arch_count(&count) == 0 && count > 0;
  if (!works) {
    why = "it does not tell its version or its architectures";
    return nullptr;
  }
  nvrtc->architectures_.resize(static_cast<std::size_t>(count));
  nvrtc->table_.archs(nvrtc->architectures_.data());
  std::sort(nvrtc->architectures_.begin(), nvrtc->architectures_.end());
  nvrtc->path_ = DynamicLibrary::path_of(reinterpret_cast<const void*>(nvrtc->table_.version));
  return nvrtc;
}

std::string Nvrtc::version_text() const {
  return std::to_string(major_) + "." + std::to_string(minor_);
}

CompileResult Nvrtc::compile(const CompileJob& job) const {
  ProgramHandle program = nullptr;
  if (const int status =
          table_.create(&program, job.text.c_str(), job.file_name.c_str(), 0, nullptr, nullptr);
      status != 0)
    return {.succeeded = false, .bytes = {}, .log = table_.error_string(status)};
  std::vector<const char*> options;
  for (const std::string& option : job.options) options.push_back(option.c_str());
  const int status = table_.compile(program, static_cast<int>(options.size()), options.data());

  const auto read = [program](auto size_of, auto text_of) {
    std::size_t bytes = 0;
    size_of(program, &bytes);
    std::string text(bytes, '\0');
    if (bytes != 0) text_of(program, text.data());
    return text;
  };
  CompileResult result;
  result.succeeded = status == 0;
  result.log = read(table_.log_size, table_.log);
  while (!result.log.empty() && result.log.back() == '\0') result.log.pop_back();
  if (result.succeeded)
    result.bytes =
        job.to_ptx ? read(table_.ptx_size, table_.ptx) : read(table_.cubin_size, table_.cubin);
  else if (result.log.empty())
    result.log = table_.error_string(status);
  table_.destroy(&program);
  return result;
}

}  // namespace tilewright::cuda
