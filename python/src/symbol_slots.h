#pragma once

#include <nanobind/nanobind.h>

namespace tilewright::python {

/// The type slots of symbols: Python's operators, bound without a method call between.
const PyType_Slot* symbol_slots() noexcept;

}  // namespace tilewright::python
