#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "author/access.h"
#include "bindings.h"
#include "handles.h"
#include "python_function.h"
#include "symbol_slots.h"
#include "tilewright/error.h"

namespace tilewright::python {

namespace {

using author::Access;

ir::Type type_of(const Value& value) {
  return tracing::Recorder::current().graph().type(Access::node(value));
}

PythonFunction as_symbol{"tilewright._operands", "as_symbol"};

nb::object apply(std::string_view fn, nb::args args) {
  std::vector<ir::NodeId> nodes;
  for (nb::handle argument : args) {
    const auto value = operand(argument);
    if (!value) {
      throw Error({.code = ErrorCode::kTrace,
                   .what = "an operand is not a number or a symbol",
                   .where = std::string(fn),
                   .expected = "int, float, bool, a symbol, or a captured tensor of one element",
                   .got = type_text(argument),
                   .hint = "capture tensors and subscript them with b, h, q_idx or kv_idx"});
    }
    nodes.push_back(Access::node(*value));
  }
  tracing::Recorder& recorder = tracing::Recorder::current();
  return wrap(Access::wrap(recorder.graph().call(fn, nodes, recorder.guard())));
}

void bind_numbers(nb::module_& module) {
  nb::class_<Number>(module, "Number")
      .def("__init__",
           [](Number* self, const std::string& name, nb::handle value) {
             if (PyFloat_Check(value.ptr()))
               new (self) Number(name, nb::cast<double>(value));
             else
               new (self) Number(name, nb::cast<std::int64_t>(value));
           })
      .def_prop_ro("name", &Number::name)
      .def_prop_ro("value", [](const Number& self) {
        return self.is_float() ? nb::object(nb::float_(self.real()))
                               : nb::object(nb::int_(self.integer()));
      });
}

}  // namespace

HandleTypes& handle_types() noexcept {
  static HandleTypes types;
  return types;
}

std::optional<Value> plain_operand(PyObject* object) {
  if (is_handle(object)) return handle_in(object);
  if (PyBool_Check(object)) return Value(object == Py_True);
  if (PyFloat_CheckExact(object)) return Value(PyFloat_AsDouble(object));
  if (!PyLong_CheckExact(object)) return std::nullopt;
  return Value(nb::cast<std::int64_t>(nb::handle(object)));
}

std::optional<Value> operand(nb::handle object) {
  if (auto value = plain_operand(object.ptr())) return value;
  if (nb::isinstance<Number>(object)) return Value(nb::cast<const Number&>(object));
  const nb::object made = as_symbol(object);
  if (made.is_none()) return std::nullopt;
  return operand(made);
}

std::string type_text(nb::handle object) {
  return nb::cast<std::string>(object.type().attr("__name__"));
}

nb::object wrap(const Value& value) {
  const HandleTypes& types = handle_types();
  const auto made = [&]<class Handle>(PyTypeObject* type, const Handle& handle) {
    nb::object object = nb::inst_alloc(nb::handle(reinterpret_cast<PyObject*>(type)));
    new (nb::inst_ptr<Handle>(object)) Handle(handle);
    nb::inst_mark_ready(object);
    return object;
  };
  switch (type_of(value)) {
    case ir::Type::kFloat:
      return made(types.score, Score(value));
    case ir::Type::kInt:
      return made(types.index, Index(value));
    case ir::Type::kBool:
      return made(types.truth, Bool(value));
  }
  return nb::none();
}

Number number_from(nb::handle object) {
  if (nb::isinstance<Number>(object)) return nb::cast<Number>(object);
  if (PyFloat_Check(object.ptr())) return {nb::cast<double>(object)};
  return {nb::cast<std::int64_t>(object)};
}

void bind_symbols(nb::module_& module) {
  bind_numbers(module);
  const auto type_object = [](const auto& made) {
    return reinterpret_cast<PyTypeObject*>(made.ptr());
  };
  HandleTypes& types = handle_types();
  types.value = type_object(nb::class_<Value>(module, "Value", nb::type_slots(symbol_slots())));
  types.score = type_object(nb::class_<Score, Value>(module, "Score"));
  types.index = type_object(nb::class_<Index, Value>(module, "Index"));
  types.truth = type_object(nb::class_<Bool, Value>(module, "Bool"));
  module.def("apply", &apply, nb::arg("fn"), nb::arg("args"));
  module.def("symbol", [](nb::handle object) { return wrap(operand(object).value()); });
  module.def("position", [](std::int64_t position) {
    return wrap(Access::wrap(tracing::Recorder::current().graph().literal(position)));
  });
}

}  // namespace tilewright::python
