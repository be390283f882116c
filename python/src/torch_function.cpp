#include <nanobind/stl/string.h>

#include <array>
#include <span>
#include <unordered_map>

#include "author/access.h"
#include "bindings.h"
#include "handles.h"
#include "python_function.h"

namespace tilewright::python {

namespace {

/// What one function of torch means on symbols.
struct Meaning {
  nb::object function;  ///< keeps its address from being used again
  nb::object handler;   ///< the Python half's, for operands that are no plain symbols
  std::string fn;       ///< the text form's function where operands are plain; else ""
  std::size_t arity = 0;
  bool truth_first = false;  ///< the first operand must be a truth value
  bool is_subscript = false;
};

using Meanings = std::unordered_map<PyObject*, Meaning>;

Meanings& meanings() {
  static auto* known = new Meanings();
  return *known;
}

PythonFunction meaning_of{"tilewright._symbols", "meaning_of"};

const Meaning& meaning(nb::handle function) {
  constexpr std::size_t kMostFunctions = 4096;
  Meanings& known = meanings();
  const auto found = known.find(function.ptr());
  if (found != known.end()) return found->second;
  if (known.size() >= kMostFunctions) known.clear();
  const nb::tuple parts = nb::cast<nb::tuple>(meaning_of(function));
  Meaning made{.function = nb::borrow(function),
               .handler = parts[0],
               .fn = nb::cast<std::string>(parts[1]),
               .arity = nb::cast<std::size_t>(parts[2]),
               .truth_first = nb::cast<bool>(parts[3]),
               .is_subscript = nb::cast<bool>(parts[4])};
  return known.emplace(function.ptr(), std::move(made)).first->second;
}

/// The function applied to plain symbols and numbers; invalid where some operand is neither.
nb::object applied(const Meaning& meant, nb::handle args) {
  constexpr std::size_t kMostOperands = 3;
  const auto count = static_cast<std::size_t>(PyTuple_Size(args.ptr()));
  if (meant.fn.empty() || count != meant.arity || count > kMostOperands) return {};
  std::array<ir::NodeId, kMostOperands> nodes{};
  for (std::size_t i = 0; i < count; ++i) {
    PyObject* operand = PyTuple_GetItem(args.ptr(), static_cast<Py_ssize_t>(i));
    const bool fits = i > 0 || !meant.truth_first || Py_TYPE(operand) == handle_types().truth;
    const auto value = fits ? plain_operand(operand) : std::nullopt;
    if (!value) return {};
    nodes[i] = author::Access::node(*value);
  }
  tracing::Recorder& recorder = tracing::Recorder::current();
  return wrap(author::Access::wrap(recorder.graph().call(
      meant.fn, std::span<const ir::NodeId>(nodes.data(), count), recorder.guard())));
}

nb::object torch_function(nb::handle, nb::handle function, nb::handle, nb::handle args,
                          nb::handle kwargs) {
  const Meaning& meant = meaning(function);
  const bool named = kwargs.is_valid() && !kwargs.is_none() && nb::len(kwargs) > 0;
  if (!named && meant.is_subscript) return subscript(args[0], args[1]);
  if (!named) {
    nb::object made = applied(meant, args);
    if (made.is_valid()) return made;
  }
  const nb::object handler = meant.handler;
  PyObject* names = named ? kwargs.ptr() : nullptr;
  nb::object result = nb::steal(PyObject_Call(handler.ptr(), args.ptr(), names));
  if (!result.is_valid()) throw nb::python_error();
  return result;
}

}  // namespace

void bind_torch_function(nb::module_& module) {
  module.def("torch_function", &torch_function, nb::arg("cls"), nb::arg("func"), nb::arg("types"),
             nb::arg("args") = nb::tuple(), nb::arg("kwargs").none() = nb::none());
  module.def("forget_meanings", [] { meanings().clear(); });
}

}  // namespace tilewright::python
