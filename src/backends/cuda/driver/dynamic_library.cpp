#include "backends/cuda/driver/dynamic_library.h"

#include <dlfcn.h>

namespace tilewright::cuda {

DynamicLibrary::DynamicLibrary(void* handle)
    : handle_(handle, [](void* opened) { ::dlclose(opened); }) {}

std::optional<DynamicLibrary> DynamicLibrary::open(const std::string& name, std::string& why) {
  if (void* const handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL))
    return DynamicLibrary(handle);
  const char* const reason = ::dlerror();
  why = reason == nullptr ? name + ": the loader gives no reason" : reason;
  return std::nullopt;
}

std::optional<DynamicLibrary> DynamicLibrary::already_loaded(const std::string& name) {
  if (void* const handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD))
    return DynamicLibrary(handle);
  ::dlerror();
  return std::nullopt;
}

void* DynamicLibrary::symbol(const char* name) const noexcept {
  return ::dlsym(handle_.get(), name);
}

std::string DynamicLibrary::path_of(const void* address) {
  Dl_info info{};
  if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  return info.dli_fname;
}

}  // namespace tilewright::cuda
