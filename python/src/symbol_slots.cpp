#include "symbol_slots.h"

#include "author/access.h"
#include "bindings.h"
#include "handles.h"

namespace tilewright::python {

namespace {

using author::Access;

PyObject* not_implemented() noexcept { return nb::borrow(Py_NotImplemented).release().ptr(); }

/// Runs `body`, which returns an owned object; what it throws is raised in Python.
template <class Body>
PyObject* guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    raise_current_exception();
    return nullptr;
  }
}

PyObject* released(const Value& value) { return wrap(value).release().ptr(); }

/// One binary operator by the text form's function; Python hands over either order.
template <const char* const& Fn>
PyObject* binary(PyObject* left, PyObject* right) noexcept {
  return guarded([&]() -> PyObject* {
    const auto a = operand(left);
    const auto b = operand(right);
    if (!a || !b) return not_implemented();
    return released(author::call(Fn, {*a, *b}));
  });
}

constexpr const char* kAdd = "add";
constexpr const char* kSub = "sub";
constexpr const char* kMul = "mul";
constexpr const char* kTrueDiv = "true_div";
constexpr const char* kFloorDiv = "floor_div";
constexpr const char* kFloorMod = "floor_mod";
constexpr const char* kAnd = "bit_and";
constexpr const char* kOr = "bit_or";
constexpr const char* kXor = "bit_xor";
constexpr const char* kShl = "shl";
constexpr const char* kShr = "shr";

/// Integer powers of integers stay integers, as in Python; everything else is a power of floats.
std::optional<Value> small_power(PyObject* left, PyObject* right) {
  constexpr long kMostFactors = 16;
  if (!is_handle(left) || Py_TYPE(left) != handle_types().index || !PyLong_CheckExact(right))
    return std::nullopt;
  const long factors = PyLong_AsLong(right);
  if (factors == -1 && PyErr_Occurred()) throw nb::python_error();
  if (factors < 0 || factors > kMostFactors) return std::nullopt;
  const Value& base = handle_in(left);
  Value product = factors == 0 ? Value(1) : base;
  for (long i = 1; i < factors; ++i) product = product * base;
  return product;
}

PyObject* power(PyObject* left, PyObject* right, PyObject* modulus) noexcept {
  return guarded([&]() -> PyObject* {
    if (modulus != Py_None) return not_implemented();
    if (const auto product = small_power(left, right)) return released(*product);
    const auto a = operand(left);
    const auto b = operand(right);
    if (!a || !b) return not_implemented();
    return released(author::call("pow", {*a, *b}));
  });
}

template <Value (*Apply)(const Value&)>
PyObject* unary(PyObject* self) noexcept {
  return guarded([&] { return released(Apply(handle_in(self))); });
}

Value negated(const Value& x) { return -x; }
Value same(const Value& x) { return x; }
Value magnitude(const Value& x) { return abs(x); }
Value inverted(const Value& x) { return ~x; }

int truth(PyObject* self) noexcept {
  try {
    return static_cast<bool>(handle_in(self)) ? 1 : 0;
  } catch (...) {
    raise_current_exception();
    return -1;
  }
}

Bool compared(const Value& a, const Value& b, int comparison) {
  switch (comparison) {
    case Py_EQ:
      return a == b;
    case Py_NE:
      return a != b;
    case Py_LT:
      return a < b;
    case Py_LE:
      return a <= b;
    case Py_GT:
      return a > b;
    default:
      return a >= b;
  }
}

PyObject* compare(PyObject* self, PyObject* other, int comparison) noexcept {
  return guarded([&]() -> PyObject* {
    const auto value = operand(other);
    if (!value) return not_implemented();
    return released(compared(handle_in(self), *value, comparison));
  });
}

/// Symbols are told apart by identity, since `==` makes another symbol.
Py_hash_t hash(PyObject* self) noexcept {
  return static_cast<Py_hash_t>(reinterpret_cast<std::uintptr_t>(self) >> 4);
}

template <class Function>
PyType_Slot slot(int id, Function function) {
  return {id, reinterpret_cast<void*>(function)};
}

}  // namespace

const PyType_Slot* symbol_slots() noexcept {
  static const PyType_Slot slots[] = {slot(Py_nb_add, &binary<kAdd>),
                                      slot(Py_nb_subtract, &binary<kSub>),
                                      slot(Py_nb_multiply, &binary<kMul>),
                                      slot(Py_nb_true_divide, &binary<kTrueDiv>),
                                      slot(Py_nb_floor_divide, &binary<kFloorDiv>),
                                      slot(Py_nb_remainder, &binary<kFloorMod>),
                                      slot(Py_nb_and, &binary<kAnd>),
                                      slot(Py_nb_or, &binary<kOr>),
                                      slot(Py_nb_xor, &binary<kXor>),
                                      slot(Py_nb_lshift, &binary<kShl>),
                                      slot(Py_nb_rshift, &binary<kShr>),
                                      slot(Py_nb_power, &power),
                                      slot(Py_nb_negative, &unary<&negated>),
                                      slot(Py_nb_positive, &unary<&same>),
                                      slot(Py_nb_absolute, &unary<&magnitude>),
                                      slot(Py_nb_invert, &unary<&inverted>),
                                      slot(Py_nb_bool, &truth),
                                      slot(Py_tp_richcompare, &compare),
                                      slot(Py_tp_hash, &hash),
                                      {0, nullptr}};
  return slots;
}

}  // namespace tilewright::python
