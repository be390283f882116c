#pragma once

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace tilewright::python {

/// A function of the package's Python half, imported at its first call and kept for the process.
class PythonFunction {
 public:
  constexpr PythonFunction(const char* module, const char* name) : module_(module), name_(name) {}

  template <class... Args>
  nb::object operator()(Args&&... args) {
    if (function_ == nullptr)
      function_ = nb::object(nb::module_::import_(module_).attr(name_)).release().ptr();
    return nb::handle(function_)(std::forward<Args>(args)...);
  }

 private:
  const char* module_;
  const char* name_;
  PyObject* function_ = nullptr;
};

}  // namespace tilewright::python
