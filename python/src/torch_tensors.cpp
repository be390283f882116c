#include "torch_tensors.h"

#include <nanobind/ndarray.h>

#include "tensor_kinds.h"

namespace tilewright::python {

namespace {

/// The exchange interface of DLPack 1.3 (dlpack.h, DLPackExchangeAPI), as far as it is called here.
struct Exchange {
  std::uint32_t major;
  std::uint32_t minor;
  const Exchange* older;
  void* allocate;
  void* managed_from_object;
  void* managed_to_object;
  int (*view_of_object)(void* object, nb::dlpack::dltensor* out);
  int (*current_stream)(std::int32_t device_type, std::int32_t device_id, void** out);
};

const Exchange* usable_exchange(nb::handle tensor_type) {
  const nb::object capsule = nb::getattr(tensor_type, "__dlpack_c_exchange_api__", nb::none());
  if (capsule.is_none()) return nullptr;
  const auto* found =
      static_cast<const Exchange*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  if (found == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  while (found != nullptr && found->major > 1) found = found->older;
  return found != nullptr && found->view_of_object != nullptr ? found : nullptr;
}

nb::object imported_torch() {
  const nb::dict modules = nb::borrow<nb::dict>(nb::module_::import_("sys").attr("modules"));
  return modules.contains("torch") ? nb::object(modules["torch"]) : nb::none();
}

/// Whether the tensor's values are the negative of what its memory holds.
bool is_lazily_negative(PyObject* tensor) {
  static PyObject* name = PyUnicode_InternFromString("is_neg");
  const nb::object answer = nb::steal(PyObject_CallMethodObjArgs(tensor, name, nullptr));
  if (!answer.is_valid()) throw nb::python_error();
  return answer.is(Py_True);
}

}  // namespace

const TorchTensors* TorchTensors::loaded() {
  static TorchTensors known;
  static bool refused = false;
  if (known.exchange_ != nullptr) return &known;
  if (refused) return nullptr;
  const nb::object torch = imported_torch();
  if (torch.is_none() || !nb::hasattr(torch, "Tensor") || !nb::hasattr(torch, "nn")) return nullptr;
  const nb::object parameters = nb::getattr(torch.attr("nn"), "Parameter", nb::none());
  if (parameters.is_none()) return nullptr;
  const nb::object tensors = torch.attr("Tensor");
  const Exchange* exchange = usable_exchange(tensors);
  if (exchange == nullptr) {
    refused = true;
    return nullptr;
  }
  known.tensor_type_ = nb::object(tensors).release().ptr();
  known.parameter_type_ = nb::object(parameters).release().ptr();
  known.exchange_ = exchange;
  return &known;
}

std::optional<TensorView> TorchTensors::view(PyObject* tensor) const {
  const auto* exchange = static_cast<const Exchange*>(exchange_);
  nb::dlpack::dltensor seen{};
  if (exchange->view_of_object(tensor, &seen) != 0) {
    PyErr_Clear();
    return std::nullopt;
  }
  const auto dtype = known_dtype(seen.dtype);
  const auto device = known_device(seen.device.device_type, seen.device.device_id);
  if (!dtype || !device || seen.ndim > static_cast<int>(Dims::kMaxRank)) return std::nullopt;
  if (is_lazily_negative(tensor)) return std::nullopt;
  TensorView view{.data = static_cast<char*>(seen.data) + seen.byte_offset,
                  .dtype = *dtype,
                  .shape = Dims(seen.shape, static_cast<std::size_t>(seen.ndim)),
                  .strides = {},
                  .device = *device};
  view.strides = seen.strides == nullptr ? contiguous_strides(view.shape)
                                         : Dims(seen.strides, static_cast<std::size_t>(seen.ndim));
  return view;
}

void* TorchTensors::stream(Device device) const {
  const auto* exchange = static_cast<const Exchange*>(exchange_);
  if (device.kind != DeviceKind::kCuda || exchange->current_stream == nullptr) return nullptr;
  void* stream = nullptr;
  const int failed = exchange->current_stream(nb::device::cuda::value, device.ordinal, &stream);
  if (failed != 0) throw nb::python_error();
  return stream;
}

}  // namespace tilewright::python
