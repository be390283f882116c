#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <vector>

#include "tilewright/tensor.h"

namespace nb = nanobind;

namespace tilewright::python {

/// The memory of a View, a torch tensor, a numpy array, or anything with `__dlpack__`; errors call
/// it `name`. Where a copy or an exporter holds the memory, `kept` becomes what keeps it alive.
TensorView view_of_operand(nb::handle object, const std::string& name, nb::object& kept);

/// Views of one call's operands, and what keeps their memory alive while it runs.
class OperandViews {
 public:
  TensorView required(nb::handle object, const char* name);
  /// Absent for None.
  std::optional<TensorView> optional(nb::handle object, const char* name);

 private:
  std::vector<nb::object> kept_;
};

/// The stream of a call: a number (CUstream), or None for torch's current one where `query` is a
/// torch tensor on a CUDA device and for the default one elsewhere.
void* stream_of_call(nb::handle stream, nb::handle query, const TensorView& view);

}  // namespace tilewright::python
