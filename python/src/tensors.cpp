#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "bindings.h"
#include "python_function.h"
#include "tensor_kinds.h"
#include "tensor_views.h"
#include "tilewright/error.h"
#include "torch_tensors.h"

namespace tilewright::python {

namespace {

DType dtype_named(std::string_view text, std::string_view where) {
  if (const auto dtype = dtype_from_name(text)) return *dtype;
  throw Error({.code = ErrorCode::kUnsupported,
               .what = "this dtype is not served",
               .where = std::string(where),
               .expected = "f64 f32 f16 bf16 i8 i16 i32 i64 u8 bool",
               .got = std::string(text),
               .hint = "convert the tensor to one of these"});
}

DType dtype_of(nb::dlpack::dtype type, std::string_view where) {
  if (const auto dtype = known_dtype(type)) return *dtype;
  return dtype_named(
      "DLPack code " + std::to_string(type.code) + ", " + std::to_string(type.bits) + " bits",
      where);
}

Device device_of(int type, int ordinal, std::string_view where) {
  if (const auto device = known_device(type, ordinal)) return *device;
  throw Error({.code = ErrorCode::kUnsupported,
               .what = "tensors on this device are not served",
               .where = std::string(where),
               .expected = "a CPU or CUDA tensor",
               .got = "DLPack device type " + std::to_string(type),
               .hint = {}});
}

/// Keeps what a DLPack capsule lent: nobody else does.
nb::object owner_of(const nb::ndarray<nb::ro>& array) {
  using Lent = nb::ndarray<nb::ro>;
  return nb::capsule(new Lent(array), [](void* lent) noexcept { delete static_cast<Lent*>(lent); });
}

/// Any object with `__dlpack__` or a buffer, or a DLPack capsule. `name` is how errors call it.
View view_of(const nb::object& object, const std::string& name) {
  nb::ndarray<nb::ro> array;
  if (!nb::try_cast(object, array)) {
    throw Error({.code = ErrorCode::kInvalidArgument,
                 .what = "this is not a tensor",
                 .where = name,
                 .expected = "an array with __dlpack__ or a buffer",
                 .got = type_text(object),
                 .hint = {}});
  }
  View result;
  result.view.data = const_cast<void*>(static_cast<const void*>(array.data()));
  result.view.dtype = dtype_of(array.dtype(), name);
  result.view.device = device_of(array.device_type(), array.device_id(), name);
  for (std::size_t i = 0; i < array.ndim(); ++i) {
    result.view.shape.push_back(static_cast<std::int64_t>(array.shape(i)));
    result.view.strides.push_back(array.stride(i));
  }
  result.owner = PyCapsule_CheckExact(object.ptr()) ? owner_of(array) : nb::cast(array);
  return result;
}

/// Memory that the caller vouches for: address, dtype name, shape, strides in elements.
View view_at(std::uintptr_t address, std::string_view dtype, nb::handle shape, nb::handle strides,
             const nb::object& owner) {
  View result;
  result.view.data = reinterpret_cast<void*>(address);
  result.view.dtype = dtype_named(dtype, {});
  result.view.shape = dims_from(shape);
  result.view.strides = dims_from(strides);
  result.owner = owner;
  return result;
}

}  // namespace

nb::tuple tuple_from(const Dims& dims) {
  nb::list list;
  for (std::int64_t extent : dims) list.append(extent);
  return nb::tuple(list);
}

Dims dims_from(nb::handle sequence) {
  Dims dims;
  for (nb::handle extent : sequence) dims.push_back(nb::cast<std::int64_t>(extent));
  return dims;
}

namespace {

bool is_numpy_array(nb::handle object) {
  static PyObject* array_type = nullptr;
  if (array_type == nullptr) {
    const nb::object type = nb::module_::import_("numpy").attr("ndarray");
    array_type = nb::object(type).release().ptr();
  }
  return reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())) == array_type;
}

std::optional<TensorView> numpy_view(nb::handle object, nb::object& kept) {
  nb::ndarray<nb::ro> array;
  if (!nb::try_cast(object, array)) return std::nullopt;
  const auto dtype = known_dtype(array.dtype());
  if (!dtype || array.ndim() > Dims::kMaxRank) return std::nullopt;
  TensorView view{.data = const_cast<void*>(static_cast<const void*>(array.data())),
                  .dtype = *dtype,
                  .shape = {},
                  .strides = {},
                  .device = {}};
  for (std::size_t i = 0; i < array.ndim(); ++i) {
    view.shape.push_back(static_cast<std::int64_t>(array.shape(i)));
    view.strides.push_back(array.stride(i));
  }
  kept = nb::borrow(object);
  return view;
}

/// Whether these are plain tensors [B, Hq, Q, E], [B or 1, Hkv, KV, E] and one of rank 4, Hq equal
/// to Hkv or, with `grouped`, a multiple. Where not, the Python half says what is wrong, or knows
/// better.
bool operands_fit(nb::handle query, nb::handle key, nb::handle value, bool grouped) {
  const TorchTensors* torch = TorchTensors::loaded();
  if (torch == nullptr) return false;
  const auto view = [&](nb::handle tensor) {
    return torch->is_plain(tensor.ptr()) ? torch->view(tensor.ptr()) : std::nullopt;
  };
  const auto q = view(query), k = view(key), v = view(value);
  if (!q || !k || !v) return false;
  constexpr std::size_t kRank = 4;
  if (q->shape.size() != kRank || k->shape.size() != kRank || v->shape.size() != kRank)
    return false;
  const std::int64_t heads = q->shape[1], key_heads = k->shape[1];
  const bool heads_fit = grouped ? key_heads != 0 && heads % key_heads == 0 : heads == key_heads;
  return heads_fit && q->shape[3] == k->shape[3] &&
         (k->shape[0] == q->shape[0] || k->shape[0] == 1);
}

}  // namespace

TensorView view_of_operand(nb::handle object, const std::string& name, nb::object& kept) {
  static PythonFunction python_view{"tilewright._tensors", "view_of"};
  if (nb::isinstance<View>(object)) return nb::cast<const View&>(object).view;
  const TorchTensors* torch = TorchTensors::loaded();
  if (torch != nullptr && torch->is_plain(object.ptr())) {
    if (const auto view = torch->view(object.ptr())) return *view;
  } else if (is_numpy_array(object)) {
    // What nanobind does not read (read-only memory, bf16, other byte orders) the Python half does.
    if (const auto view = numpy_view(object, kept)) return *view;
  }
  kept = python_view(object, name);
  return required_view(kept);
}

TensorView OperandViews::required(nb::handle object, const char* name) {
  nb::object kept;
  const TensorView view = view_of_operand(object, name, kept);
  if (kept.is_valid()) kept_.push_back(std::move(kept));
  return view;
}

std::optional<TensorView> OperandViews::optional(nb::handle object, const char* name) {
  if (object.is_none()) return std::nullopt;
  return required(object, name);
}

void* stream_of_call(nb::handle stream, nb::handle query, const TensorView& view) {
  if (!stream.is_none()) return reinterpret_cast<void*>(nb::cast<std::uintptr_t>(stream));
  if (view.device.kind != DeviceKind::kCuda) return nullptr;
  const TorchTensors* torch = TorchTensors::loaded();
  if (torch != nullptr && torch->is_plain(query.ptr())) return torch->stream(view.device);
  static PythonFunction python_stream{"tilewright._tensors", "current_stream"};
  return reinterpret_cast<void*>(nb::cast<std::uintptr_t>(python_stream(query)));
}

const TensorView& required_view(nb::handle object) { return nb::cast<const View&>(object).view; }

void bind_tensors(nb::module_& module) {
  nb::class_<View>(module, "View")
      .def_prop_ro("shape", [](const View& self) { return tuple_from(self.view.shape); })
      .def_prop_ro("strides", [](const View& self) { return tuple_from(self.view.strides); })
      .def_prop_ro("dtype", [](const View& self) { return std::string(name(self.view.dtype)); })
      .def_prop_ro("device", [](const View& self) { return to_string(self.view.device); })
      .def_prop_ro("owner", [](const View& self) { return self.owner; })
      .def("on_cuda", [](View self, int ordinal) {
        self.view.device = {.kind = DeviceKind::kCuda, .ordinal = ordinal};
        return self;
      });
  module.def(
      "are_plain_tensors",
      [](const nb::tuple& objects) {
        const TorchTensors* torch = TorchTensors::loaded();
        for (nb::handle object : objects)
          if (torch == nullptr || !torch->is_plain(object.ptr())) return false;
        return true;
      },
      nb::arg("objects"));
  module.def("operands_fit", &operands_fit, nb::arg("query"), nb::arg("key"), nb::arg("value"),
             nb::arg("grouped"));
  module.def("view_of", &view_of, nb::arg("object"), nb::arg("name") = "tensor");
  module.def("view_at", &view_at, nb::arg("address"), nb::arg("dtype"), nb::arg("shape"),
             nb::arg("strides"), nb::arg("owner").none());
}

}  // namespace tilewright::python
