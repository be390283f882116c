#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "tilewright/tensor.h"

namespace nb = nanobind;

namespace tilewright::python {

/// torch's tensors, read through DLPack's C exchange interface: no Python call, no ownership.
class TorchTensors {
 public:
  /// Null until torch is imported, and where this torch has no such interface.
  static const TorchTensors* loaded();

  /// Whether the object is exactly a Tensor or a Parameter.
  bool is_plain(PyObject* object) const noexcept {
    const auto* type = reinterpret_cast<PyObject*>(Py_TYPE(object));
    return type == tensor_type_ || type == parameter_type_;
  }

  /// The memory of a plain tensor. Absent where it is no strided tensor of a served dtype on a CPU
  /// or CUDA device: the Python half then says what is wrong.
  std::optional<TensorView> view(PyObject* tensor) const;

  /// torch's current stream on a CUDA device; null on the CPU.
  void* stream(Device device) const;

 private:
  PyObject* tensor_type_ = nullptr;
  PyObject* parameter_type_ = nullptr;
  const void* exchange_ = nullptr;
};

}  // namespace tilewright::python
