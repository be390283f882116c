#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "bindings.h"
#include "tilewright/error.h"

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

struct DlpackKind {
  nb::dlpack::dtype_code code;
  std::uint8_t bits;
  DType dtype;
};

constexpr DlpackKind kDlpackKinds[] = {
    {nb::dlpack::dtype_code::Float, 64, DType::kF64},
    {nb::dlpack::dtype_code::Float, 32, DType::kF32},
    {nb::dlpack::dtype_code::Float, 16, DType::kF16},
    {nb::dlpack::dtype_code::Bfloat, 16, DType::kBF16},
    {nb::dlpack::dtype_code::Int, 8, DType::kI8},
    {nb::dlpack::dtype_code::Int, 16, DType::kI16},
    {nb::dlpack::dtype_code::Int, 32, DType::kI32},
    {nb::dlpack::dtype_code::Int, 64, DType::kI64},
    {nb::dlpack::dtype_code::UInt, 8, DType::kU8},
    {nb::dlpack::dtype_code::Bool, 8, DType::kBool},
};

DType dtype_of(nb::dlpack::dtype type, std::string_view where) {
  for (const DlpackKind& kind : kDlpackKinds) {
    if (type.code == static_cast<std::uint8_t>(kind.code) && type.bits == kind.bits &&
        type.lanes == 1)
      return kind.dtype;
  }
  return dtype_named(
      "DLPack code " + std::to_string(type.code) + ", " + std::to_string(type.bits) + " bits",
      where);
}

Device device_of(int type, int ordinal, std::string_view where) {
  if (type == nb::device::cpu::value) return {};
  if (type == nb::device::cuda::value) return {.kind = DeviceKind::kCuda, .ordinal = ordinal};
  throw Error({.code = ErrorCode::kUnsupported,
               .what = "tensors on this device are not served",
               .where = std::string(where),
               .expected = "a CPU or CUDA tensor",
               .got = "DLPack device type " + std::to_string(type),
               .hint = {}});
}

/// Any object with `__dlpack__` or a buffer. `name` is how errors call it.
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
  result.owner = nb::cast(array);
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

std::optional<TensorView> optional_view(nb::handle object) {
  if (object.is_none()) return std::nullopt;
  return nb::cast<const View&>(object).view;
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
  module.def("view_of", &view_of, nb::arg("object"), nb::arg("name") = "tensor");
  module.def("view_at", &view_at, nb::arg("address"), nb::arg("dtype"), nb::arg("shape"),
             nb::arg("strides"), nb::arg("owner").none());
}

}  // namespace tilewright::python
