#include <nanobind/stl/string.h>

#include "bindings.h"
#include "handles.h"
#include "tilewright/error.h"

namespace tilewright::python {

namespace {

/// Raises the Python class that `tilewright._error` keeps for this code.
void raise_in_python(const Error& error) {
  const ErrorParts& parts = error.parts();
  try {
    const nb::object make = nb::module_::import_("tilewright._error").attr("make");
    const nb::object raised =
        make(name(parts.code), parts.what, parts.where, parts.expected, parts.got, parts.hint);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised.ptr())), raised.ptr());
  } catch (nb::python_error& failed) {
    failed.restore();
  }
}

}  // namespace

void raise_current_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    raise_in_python(error);
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

void bind_errors(nb::module_&) {
  nb::register_exception_translator(
      [](const std::exception_ptr& pointer, void*) {
        try {
          std::rethrow_exception(pointer);
        } catch (const Error& error) {
          raise_in_python(error);
        }
      },
      nullptr);
}

}  // namespace tilewright::python
