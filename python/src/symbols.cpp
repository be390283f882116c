#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "author/access.h"
#include "bindings.h"
#include "tilewright/error.h"

namespace tilewright::python {

namespace {

using author::Access;

/// The binary operators of Python: its name and the text form's function. Reflected ones swap.
struct BinaryOperator {
  const char* python;
  const char* reflected;
  const char* fn;
};

constexpr BinaryOperator kBinary[] = {
    {"__add__", "__radd__", "add"},
    {"__sub__", "__rsub__", "sub"},
    {"__mul__", "__rmul__", "mul"},
    {"__truediv__", "__rtruediv__", "true_div"},
    {"__floordiv__", "__rfloordiv__", "floor_div"},
    {"__mod__", "__rmod__", "floor_mod"},
    {"__and__", "__rand__", "bit_and"},
    {"__or__", "__ror__", "bit_or"},
    {"__xor__", "__rxor__", "bit_xor"},
    {"__lshift__", "__rlshift__", "shl"},
    {"__rshift__", "__rrshift__", "shr"},
};

ir::Type type_of(const Value& value) {
  return tracing::Recorder::current().graph().type(Access::node(value));
}

nb::object not_implemented() { return nb::borrow(Py_NotImplemented); }

nb::object apply_two(const char* fn, const Value& a, const Value& b) {
  return wrap(author::call(fn, {a, b}));
}

/// Integer powers of integers stay integers, as in Python; everything else is a power of floats.
nb::object power(const Value& base, nb::handle exponent) {
  constexpr long kMostFactors = 16;
  if (PyLong_CheckExact(exponent.ptr()) && type_of(base) == ir::Type::kInt) {
    const long factors = PyLong_AsLong(exponent.ptr());
    if (PyErr_Occurred()) throw nb::python_error();
    if (factors >= 0 && factors <= kMostFactors) {
      Value product = factors == 0 ? Value(1) : base;
      for (long i = 1; i < factors; ++i) product = product * base;
      return wrap(product);
    }
  }
  const auto value = operand(exponent);
  return value ? apply_two("pow", base, *value) : not_implemented();
}

void bind_binary(nb::class_<Value>& type) {
  for (const BinaryOperator& row : kBinary) {
    const char* fn = row.fn;
    type.def(
        row.python,
        [fn](const Value& self, nb::handle other) {
          const auto value = operand(other);
          return value ? apply_two(fn, self, *value) : not_implemented();
        },
        nb::is_operator());
    type.def(
        row.reflected,
        [fn](const Value& self, nb::handle other) {
          const auto value = operand(other);
          return value ? apply_two(fn, *value, self) : not_implemented();
        },
        nb::is_operator());
  }
  type.def("__pow__", &power, nb::is_operator());
  type.def(
      "__rpow__",
      [](const Value& self, nb::handle base) {
        const auto value = operand(base);
        return value ? apply_two("pow", *value, self) : not_implemented();
      },
      nb::is_operator());
}

template <Bool (*Compare)(const Value&, const Value&)>
void bind_comparison(nb::class_<Value>& type, const char* name) {
  type.def(
      name,
      [](const Value& self, nb::handle other) {
        const auto value = operand(other);
        return value ? wrap(Compare(self, *value)) : not_implemented();
      },
      nb::is_operator());
}

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

nb::object load(const View& view, const std::string& name, const std::vector<nb::object>& indices) {
  tracing::Recorder& recorder = tracing::Recorder::current();
  const std::uint32_t slot = recorder.capture(name, view.view);
  std::vector<ir::NodeId> nodes;
  for (const nb::object& index : indices) nodes.push_back(Access::node(*operand(index)));
  return wrap(Access::wrap(recorder.graph().load(slot, nodes, recorder.guard())));
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

std::optional<Value> operand(nb::handle object) {
  if (nb::isinstance<Value>(object)) return nb::cast<const Value&>(object);
  if (PyBool_Check(object.ptr())) return Value(object.is(Py_True));
  if (PyLong_CheckExact(object.ptr())) return Value(nb::cast<std::int64_t>(object));
  if (PyFloat_CheckExact(object.ptr())) return Value(PyFloat_AsDouble(object.ptr()));
  if (nb::isinstance<Number>(object)) return Value(nb::cast<const Number&>(object));
  const nb::object made = nb::module_::import_("tilewright._operands").attr("as_symbol")(object);
  if (made.is_none()) return std::nullopt;
  return operand(made);
}

std::string type_text(nb::handle object) {
  return nb::cast<std::string>(object.type().attr("__name__"));
}

nb::object wrap(const Value& value) {
  switch (type_of(value)) {
    case ir::Type::kFloat:
      return nb::cast(Score(value));
    case ir::Type::kInt:
      return nb::cast(Index(value));
    case ir::Type::kBool:
      return nb::cast(Bool(value));
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
  nb::class_<Value> type(module, "Value", nb::dynamic_attr());
  bind_binary(type);
  bind_comparison<operator== >(type, "__eq__");
  bind_comparison<operator!= >(type, "__ne__");
  bind_comparison < operator<>(type, "__lt__");
  bind_comparison<operator<= >(type, "__le__");
  bind_comparison<operator> >(type, "__gt__");
  bind_comparison<operator>= >(type, "__ge__");
  type.def("__bool__", [](const Value& self) { return static_cast<bool>(self); });
  type.def("__neg__", [](const Value& self) { return wrap(-self); });
  type.def("__pos__", [](const Value& self) { return wrap(self); });
  type.def("__abs__", [](const Value& self) { return wrap(abs(self)); });
  type.def("__invert__", [](const Value& self) { return wrap(~self); });
  type.def("__hash__", [](const Value& self) {
    return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(&self) >> 4);
  });
  nb::class_<Score, Value>(module, "Score");
  nb::class_<Index, Value>(module, "Index");
  nb::class_<Bool, Value>(module, "Bool");
  module.def("apply", &apply, nb::arg("fn"), nb::arg("args"));
  module.def("load", &load, nb::arg("view"), nb::arg("name"), nb::arg("indices"));
  module.def("symbol", [](nb::handle object) { return wrap(operand(object).value()); });
  module.def("position", [](std::int64_t position) {
    return wrap(Access::wrap(tracing::Recorder::current().graph().literal(position)));
  });
  module.def("tracing", &tracing::Recorder::active);
}

}  // namespace tilewright::python
