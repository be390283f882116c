#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tilewright/author.h"
#include "tilewright/program.h"
#include "tilewright/tensor.h"

namespace nb = nanobind;

namespace tilewright {
class Engine;
struct CallOptions;
}  // namespace tilewright

namespace tilewright::python {

/// A tensor as the engine sees it, and the Python object that keeps its memory alive.
struct View {
  TensorView view;
  nb::object owner;
};

/// A program and the tensors that its captures read, in slot order. Rebinding replaces both.
struct OwnedProgram {
  Program program;
  std::vector<nb::object> owners = {};
  std::vector<nb::object> kept = {};  ///< memory of captures that is not their tensors' own
  std::shared_ptr<const ir::Program> shared = nullptr;  ///< for programs rebound from this one
};

/// The symbol that a Python operand stands for: a handle, a number, or what the package's
/// `_operands.as_symbol` makes of it. Absent where the operator should answer NotImplemented.
std::optional<Value> operand(nb::handle object);

/// A handle as Score, Index or Bool, whichever its type in the trace is.
nb::object wrap(const Value& value);

/// The name of an object's class, for error messages.
std::string type_text(nb::handle object);

/// A Python int or float, or a tilewright.Number.
Number number_from(nb::handle object);

/// A View's tensor.
const TensorView& required_view(nb::handle object);

/// `tensor[index]` with symbols in the index: a symbol, or what the package's `_vectors` makes of
/// it.
nb::object subscript(nb::handle tensor, nb::handle index);

/// Dims as a Python tuple and back.
nb::tuple tuple_from(const Dims& dims);
Dims dims_from(nb::handle sequence);

/// (scale or None, BlockLists or None, stream or None, deterministic) of a call on these operands.
CallOptions call_options_from(const nb::tuple& fields, nb::handle query, const TensorView& view);

void bind_errors(nb::module_& module);
void bind_tensors(nb::module_& module);
void bind_symbols(nb::module_& module);
void bind_programs(nb::module_& module);
void bind_tracing(nb::module_& module);
void bind_torch_function(nb::module_& module);
void bind_inline(nb::module_& module);
void bind_masks(nb::module_& module);
void bind_engine(nb::module_& module);
void bind_backward(nb::class_<Engine>& engine);
void bind_mask_catalogue(nb::module_& module);
void bind_score_catalogue(nb::module_& module);

}  // namespace tilewright::python
