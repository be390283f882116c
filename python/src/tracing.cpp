#include <nanobind/stl/string.h>

#include <array>
#include <string>
#include <vector>

#include "author/access.h"
#include "bindings.h"
#include "handles.h"
#include "mod_scan.h"
#include "python_function.h"
#include "tilewright/error.h"
#include "trace_session.h"

namespace tilewright::python {

namespace {

PythonFunction require_arity{"tilewright._trace", "require_arity"};
PythonFunction with_captures{"tilewright._trace", "with_captures"};

Value returned(const nb::object& result, const char* mod) {
  if (const auto value = operand(result)) return *value;
  throw Error({.code = ErrorCode::kTrace,
               .what = std::string("the ") + mod + " must return one value",
               .where = mod,
               .expected = "a symbol, a number, or a captured tensor with every axis subscripted",
               .got = type_text(result),
               .hint = {}});
}

ScoreMod score_mod_from(const nb::object& function) {
  if (function.is_none()) return {};
  return [function](Score score, Index b, Index h, Index q, Index kv) {
    return returned(function(wrap(score), wrap(b), wrap(h), wrap(q), wrap(kv)), "score_mod");
  };
}

MaskMod mask_mod_from(const nb::object& function) {
  if (function.is_none()) return {};
  return [function](Index b, Index h, Index q, Index kv) {
    return returned(function(wrap(b), wrap(h), wrap(q), wrap(kv)), "mask_mod");
  };
}

/// The function to run on symbols, of the right arity and with numpy arrays replaced.
nb::object prepared(const nb::object& mod, const char* role, int arity, TraceSession& session) {
  if (mod.is_none()) return mod;
  if (plain_arity(mod) != arity) require_arity(mod, role, arity);
  return scan_mod(mod, session) ? with_captures(mod) : mod;
}

/// Runs mods on symbols. `named`: (tensor, name) pairs that come before the source's own names.
OwnedProgram trace(const nb::object& score_mod, const nb::object& mask_mod,
                   const nb::object& device, const nb::object& dtype, nb::handle named) {
  TraceSession session({score_mod, mask_mod, device, dtype});
  for (nb::handle pair : named) session.call(pair[0], pair[1]);
  const nb::object score = prepared(score_mod, "score_mod", 5, session);
  const nb::object mask = prepared(mask_mod, "mask_mod", 4, session);
  OwnedProgram made{.program = trace_mods(score_mod_from(score), mask_mod_from(mask))};
  made.owners = session.owners(made.program.structure(), made.kept);
  return made;
}

/// `tensor[index]` where every axis has a position; invalid where the Python half must look closer.
nb::object whole_subscript(nb::handle tensor, nb::handle index) {
  const bool many = PyTuple_Check(index.ptr());
  const std::size_t count = many ? static_cast<std::size_t>(PyTuple_Size(index.ptr())) : 1;
  TraceSession& session = TraceSession::current();
  if (count > Dims::kMaxRank || session.rank_of(tensor) != count) return {};
  std::array<ir::NodeId, Dims::kMaxRank> nodes{};
  for (std::size_t i = 0; i < count; ++i) {
    PyObject* item = many ? PyTuple_GetItem(index.ptr(), static_cast<Py_ssize_t>(i)) : index.ptr();
    const bool position = is_handle(item) || PyLong_CheckExact(item);
    if (!position) return {};
    nodes[i] = author::Access::node(*plain_operand(item));
  }
  return session.load(tensor, {nodes.data(), count});
}

nb::object load(nb::handle tensor, nb::handle picks) {
  std::vector<ir::NodeId> nodes;
  for (nb::handle pick : picks) nodes.push_back(author::Access::node(operand(pick).value()));
  return TraceSession::current().load(tensor, nodes);
}

}  // namespace

nb::object subscript(nb::handle tensor, nb::handle index) {
  static PythonFunction pick{"tilewright._vectors", "pick_first"};
  nb::object made = whole_subscript(tensor, index);
  return made.is_valid() ? made : pick(tensor, index);
}

void bind_tracing(nb::module_& module) {
  module.def("trace", &trace, nb::arg("score_mod").none(), nb::arg("mask_mod").none(),
             nb::arg("device").none() = nb::none(), nb::arg("dtype").none() = nb::none(),
             nb::arg("named") = nb::tuple());
  module.def("subscript", &subscript, nb::arg("tensor"), nb::arg("index"));
  module.def("load", &load, nb::arg("tensor"), nb::arg("picks"));
  module.def(
      "note_capture",
      [](const std::string& name, nb::handle tensor) {
        TraceSession::current().note(name, tensor);
      },
      nb::arg("name"), nb::arg("tensor"));
  module.def(
      "name_for",
      [](const std::string& name, nb::handle tensor) {
        return TraceSession::current().name_for(name, tensor);
      },
      nb::arg("name"), nb::arg("tensor"));
  module.def(
      "name_of_capture",
      [](nb::handle tensor) {
        TraceSession* session = TraceSession::running();
        return session == nullptr ? std::string() : session->name_of(tensor);
      },
      nb::arg("tensor"));
  module.def("trace_device", [] { return TraceSession::current().request().device; });
  module.def("trace_dtype", [] { return TraceSession::current().request().dtype; });
  module.def("tracing", [] { return TraceSession::running() != nullptr; });
}

}  // namespace tilewright::python
