#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <map>

#include "bindings.h"
#include "tilewright/engine.h"

namespace tilewright::python {

namespace {

/// query, key, value, out, lse, d_out, d_lse or None.
BackwardInputs inputs_from(const nb::tuple& views) {
  return {.query = required_view(views[0]),
          .key = required_view(views[1]),
          .value = required_view(views[2]),
          .out = required_view(views[3]),
          .lse = required_view(views[4]),
          .d_out = required_view(views[5]),
          .d_lse = optional_view(views[6])};
}

/// d_query, d_key, d_value, each or None, and a mapping of captured gradients by name.
BackwardOutputs outputs_from(const nb::tuple& views) {
  BackwardOutputs outputs{.d_query = optional_view(views[0]),
                          .d_key = optional_view(views[1]),
                          .d_value = optional_view(views[2]),
                          .captures = {}};
  for (const auto& [name, view] : nb::cast<std::map<std::string, nb::object>>(views[3]))
    outputs.captures.emplace(name, required_view(view));
  return outputs;
}

nb::tuple run_backward(Engine& self, const OwnedProgram& program, const nb::tuple& inputs,
                       const nb::tuple& outputs, const nb::tuple& options) {
  const BackwardInputs given = inputs_from(inputs);
  const BackwardOutputs wanted = outputs_from(outputs);
  CallOptions chosen;
  if (!options[0].is_none()) chosen.scale = nb::cast<double>(options[0]);
  if (!options[1].is_none()) chosen.block_lists = nb::cast<const BlockLists*>(options[1]);
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
