#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <map>

#include "bindings.h"
#include "tensor_views.h"
#include "tilewright/engine.h"

namespace tilewright::python {

namespace {

/// query, key, value, out, lse, d_out, d_lse or None.
BackwardInputs gradient_inputs_from(const nb::tuple& operands, OperandViews& views) {
  return {.query = views.required(operands[0], "query"),
          .key = views.required(operands[1], "key"),
          .value = views.required(operands[2], "value"),
          .out = views.required(operands[3], "out"),
          .lse = views.required(operands[4], "lse"),
          .d_out = views.required(operands[5], "d_out"),
          .d_lse = views.optional(operands[6], "d_lse")};
}

/// d_query, d_key, d_value, each or None, and a mapping of captured gradients by name.
BackwardOutputs gradient_outputs_from(const nb::tuple& operands, OperandViews& views) {
  BackwardOutputs outputs{.d_query = views.optional(operands[0], "d_query"),
                          .d_key = views.optional(operands[1], "d_key"),
                          .d_value = views.optional(operands[2], "d_value"),
                          .captures = {}};
  for (const auto& [name, tensor] : nb::cast<std::map<std::string, nb::object>>(operands[3]))
    outputs.captures.emplace(name, views.required(tensor, name.c_str()));
  return outputs;
}

nb::tuple run_backward(Engine& self, const OwnedProgram& program, const nb::tuple& inputs,
                       const nb::tuple& outputs, const nb::tuple& options) {
  OperandViews views;
  const BackwardInputs given = gradient_inputs_from(inputs, views);
  const BackwardOutputs wanted = gradient_outputs_from(outputs, views);
  const CallOptions chosen = call_options_from(options, inputs[0], given.query);
  CallReport report;
  {
    const nb::gil_scoped_release released;
    report = self.attention_backward(program.program, given, wanted, chosen);
  }
  return nb::make_tuple(report.kernel, report.path, report.slow_path);
}

}  // namespace

void bind_backward(nb::class_<Engine>& engine) {
  engine.def("attention_backward", &run_backward, nb::arg("program"), nb::arg("inputs"),
             nb::arg("outputs"), nb::arg("options"));
}

}  // namespace tilewright::python
