#pragma once

#include <memory>
#include <optional>
#include <string>

namespace tilewright::cuda {

/// A shared library opened at run time, closed with its last copy. Symbols live as long.
class DynamicLibrary {
 public:
  /// Opens by path or soname. Absent with `why` filled where the loader refuses.
  static std::optional<DynamicLibrary> open(const std::string& name, std::string& why);
  /// The library of this soname if the process has it already.
  static std::optional<DynamicLibrary> already_loaded(const std::string& name);

  /// The symbol's address, or null.
  void* symbol(const char* name) const noexcept;
  template <class Function>
  bool resolve(const char* name, Function*& target) const noexcept {
    target = reinterpret_cast<Function*>(symbol(name));
    return target != nullptr;
  }

  /// Where the file lies that `address` was loaded from; empty if unknown.
  static std::string path_of(const void* address);

 private:
  explicit DynamicLibrary(void* handle);
  std::shared_ptr<void> handle_;
};

}  // namespace tilewright::cuda
