#include "mod_scan.h"

#include <unordered_map>

#include "python_function.h"
#include "trace_session.h"

namespace tilewright::python {

namespace {

/// What an object in a closure can be to a mod, by its type.
enum class Kind { kPlain, kTensor, kFunction, kArray };

PythonFunction kind_of_type{"tilewright._trace", "kind_of_type"};
PythonFunction facts_of_code{"tilewright._trace", "facts_of_code"};

Kind kind_of(nb::handle object) {
  static auto* known = new std::unordered_map<PyTypeObject*, Kind>();
  PyTypeObject* type = Py_TYPE(object.ptr());
  const auto found = known->find(type);
  if (found != known->end()) return found->second;
  const nb::object answer = kind_of_type(nb::handle(reinterpret_cast<PyObject*>(type)));
  const Kind kind = static_cast<Kind>(nb::cast<int>(answer));
  // A kept type's address is not used again.
  nb::handle(reinterpret_cast<PyObject*>(type)).inc_ref();
  known->emplace(type, kind);
  return kind;
}

/// What a code object says once and for all.
struct CodeFacts {
  nb::object code;
  nb::tuple free_names;
  nb::tuple global_names;  ///< nested functions' too
  int positional = 0;
  bool has_varargs = false;
};

const CodeFacts& code_facts(nb::handle code) {
  constexpr std::size_t kMostCodes = 4096;
  static auto* known = new std::unordered_map<PyObject*, CodeFacts>();
  const auto found = known->find(code.ptr());
  if (found != known->end()) return found->second;
  if (known->size() >= kMostCodes) known->clear();
  const nb::tuple facts = nb::cast<nb::tuple>(facts_of_code(code));
  CodeFacts made{.code = nb::borrow(code),
                 .free_names = nb::cast<nb::tuple>(facts[0]),
                 .global_names = nb::cast<nb::tuple>(facts[1]),
                 .positional = nb::cast<int>(facts[2]),
                 .has_varargs = nb::cast<bool>(facts[3])};
  return known->emplace(code.ptr(), std::move(made)).first->second;
}

PyObject* interned(const char* name) { return PyUnicode_InternFromString(name); }

nb::object attribute(nb::handle object, PyObject* name) {
  nb::object value = nb::steal(PyObject_GetAttr(object.ptr(), name));
  if (!value.is_valid()) throw nb::python_error();
  return value;
}

nb::object code_of(nb::handle function) {
  static PyObject* name = interned("__code__");
  return attribute(function, name);
}

/// The content of a closure's cell; invalid while the cell is empty.
nb::object content_of(nb::handle cell) {
  static PyObject* name = interned("cell_contents");
  nb::object value = nb::steal(PyObject_GetAttr(cell.ptr(), name));
  if (!value.is_valid()) PyErr_Clear();
  return value;
}

class Scan {
 public:
  explicit Scan(TraceSession& session) : session_(session) {}

  void function(nb::handle function, int depth) {
    const CodeFacts facts = code_facts(code_of(function));
    closure(function, facts, depth);
    globals(function, facts);
  }

  bool has_arrays = false;

 private:
  static constexpr int kDepth = 8;

  void closure(nb::handle function, const CodeFacts& facts, int depth) {
    static PyObject* name = interned("__closure__");
    const nb::object cells = attribute(function, name);
    if (cells.is_none()) return;
    const nb::tuple held = nb::borrow<nb::tuple>(cells);
    for (std::size_t i = 0; i < held.size(); ++i) {
      const nb::object value = content_of(held[i]);
      if (!value.is_valid()) continue;
      const Kind kind = look(value, facts.free_names[i]);
      if (kind == Kind::kFunction && depth < kDepth) this->function(value, depth + 1);
    }
  }

  void globals(nb::handle function, const CodeFacts& facts) {
    static PyObject* name = interned("__globals__");
    if (facts.global_names.size() == 0) return;
    const nb::object names = attribute(function, name);
    for (nb::handle global : facts.global_names) {
      PyObject* value = PyDict_GetItemWithError(names.ptr(), global.ptr());
      if (value == nullptr && PyErr_Occurred()) throw nb::python_error();
      if (value != nullptr) look(value, global);
    }
  }

  Kind look(nb::handle value, nb::handle name) {
    const Kind kind = kind_of(value);
    if (kind == Kind::kTensor) session_.call(value, name);
    if (kind == Kind::kArray) has_arrays = true;
    return kind;
  }

  TraceSession& session_;
};

}  // namespace

bool scan_mod(nb::handle mod, TraceSession& session) {
  if (kind_of(mod) != Kind::kFunction) return false;
  Scan scan(session);
  scan.function(mod, 0);
  return scan.has_arrays;
}

int plain_arity(nb::handle mod) {
  static PyObject* name = interned("__defaults__");
  if (kind_of(mod) != Kind::kFunction) return -1;
  const CodeFacts& facts = code_facts(code_of(mod));
  if (facts.has_varargs) return -1;
  const nb::object defaults = attribute(mod, name);
  return facts.positional - (defaults.is_none() ? 0 : static_cast<int>(nb::len(defaults)));
}

}  // namespace tilewright::python
