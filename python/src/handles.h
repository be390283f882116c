#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "tilewright/author.h"

namespace nb = nanobind;

namespace tilewright::python {

/// The Python classes of handles, looked up once: operators meet them many times a trace.
struct HandleTypes {
  PyTypeObject* value = nullptr;
  PyTypeObject* score = nullptr;
  PyTypeObject* index = nullptr;
  PyTypeObject* truth = nullptr;
};

/// Set when the module is imported.
HandleTypes& handle_types() noexcept;

/// Whether the object is a Value, Score, Index or Bool; no subclasses exist beside these.
inline bool is_handle(PyObject* object) noexcept {
  const PyTypeObject* type = Py_TYPE(object);
  const HandleTypes& types = handle_types();
  return type == types.score || type == types.index || type == types.truth || type == types.value;
}

/// The handle inside an object that is one.
inline const Value& handle_in(PyObject* object) { return *nb::inst_ptr<Value>(object); }

/// The symbol of a handle or of a plain Python number; absent for everything else.
std::optional<Value> plain_operand(PyObject* object);

/// Raises in Python what is being thrown; for functions that Python calls without nanobind between.
void raise_current_exception() noexcept;

}  // namespace tilewright::python
