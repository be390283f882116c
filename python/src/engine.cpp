#include "tilewright/engine.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "tensor_views.h"
#include "tilewright/error.h"
#include "tilewright/target.h"

namespace tilewright::python {

namespace {

/// Hands a message to Python's logging: logger 'tilewright'. Never throws into the engine.
void log_to_python(LogLevel level, std::string_view message) {
  if (!Py_IsInitialized()) return;
  const nb::gil_scoped_acquire held;
  const char* method = level == LogLevel::kWarning ? "warning"
                       : level == LogLevel::kInfo  ? "info"
                                                   : "debug";
  try {
    const nb::object logger =
        nb::module_::import_("logging").attr("getLogger")(nb::str("tilewright"));
    logger.attr(method)(nb::str("%s"), nb::str(message.data(), message.size()));
  } catch (nb::python_error& failed) {
    failed.discard_as_unraisable("tilewright log message");
  }
}

CompilePolicy policy_named(const std::string& text) {
  if (text == "allow") return CompilePolicy::kAllow;
  if (text == "warn") return CompilePolicy::kWarn;
  if (text == "forbid") return CompilePolicy::kForbid;
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = "this compile policy does not exist",
               .where = "compile_policy",
               .expected = "allow, warn or forbid",
               .got = text,
               .hint = {}});
}

struct TextOption {
  std::string_view name;
  std::string EngineOptions::* field;
};
constexpr TextOption kTextOptions[] = {
    {"backend", &EngineOptions::backend},       {"cpu_isa", &EngineOptions::cpu_isa},
    {"cache_dir", &EngineOptions::cache_dir},   {"record_dir", &EngineOptions::record_dir},
    {"nvrtc", &EngineOptions::nvrtc},           {"cuda_driver", &EngineOptions::cuda_driver},
    {"kernel_dir", &EngineOptions::kernel_dir},
};

struct FlagOption {
  std::string_view name;
  bool EngineOptions::* field;
};
constexpr FlagOption kFlagOptions[] = {
    {"record_data", &EngineOptions::record_data},
    {"require_fast", &EngineOptions::require_fast},
    {"checked", &EngineOptions::checked},
    {"fast_functions", &EngineOptions::fast_functions},
    {"deterministic", &EngineOptions::deterministic},
};

EngineOptions options_from(const nb::dict& fields) {
  EngineOptions options;
  for (const auto& [key, value] : fields) {
    const std::string name = nb::cast<std::string>(key);
    if (name == "threads") options.threads = nb::cast<int>(value);
    if (name == "compile_policy")
      options.compile_policy = policy_named(nb::cast<std::string>(value));
    for (const TextOption& option : kTextOptions)
      if (name == option.name) options.*option.field = nb::cast<std::string>(value);
    for (const FlagOption& option : kFlagOptions)
      if (name == option.name) options.*option.field = nb::cast<bool>(value);
  }
  options.host.log = &log_to_python;
  return options;
}

/// The names that options_from knows.
nb::list option_names() {
  nb::list names;
  names.append("threads");
  names.append("compile_policy");
  for (const TextOption& option : kTextOptions) names.append(option.name);
  for (const FlagOption& option : kFlagOptions) names.append(option.name);
  return names;
}

ForwardInputs inputs_from(const nb::tuple& operands, OperandViews& views) {
  return {.query = views.required(operands[0], "query"),
          .key = views.required(operands[1], "key"),
          .value = views.required(operands[2], "value")};
}

ForwardOutputs outputs_from(const nb::tuple& operands, OperandViews& views) {
  return {.out = views.required(operands[0], "out"),
          .lse = views.optional(operands[1], "lse"),
          .max_scores = views.optional(operands[2], "max_scores")};
}

nb::tuple tuple_from_report(const CallReport& report) {
  return nb::make_tuple(report.kernel, report.path, report.slow_path);
}

/// scale or None, block lists or None; the other fields are the caller's.
CallOptions scale_and_lists_from(const nb::tuple& fields) {
  CallOptions options;
  if (!fields[0].is_none()) options.scale = nb::cast<double>(fields[0]);
  if (!fields[1].is_none()) options.block_lists = nb::cast<const BlockLists*>(fields[1]);
  return options;
}

}  // namespace

CallOptions call_options_from(const nb::tuple& fields, nb::handle query, const TensorView& view) {
  constexpr std::size_t kFields = 4;
  if (fields.size() != kFields)
    throw nb::type_error("call options are (scale, lists, stream, deterministic)");
  CallOptions options = scale_and_lists_from(fields);
  options.stream = stream_of_call(fields[2], query, view);
  options.deterministic = nb::cast<bool>(fields[3]);
  return options;
}

namespace {

nb::tuple run_attention(Engine& self, const OwnedProgram& program, const nb::tuple& inputs,
                        const nb::tuple& outputs, const nb::tuple& options) {
  OperandViews views;
  const ForwardInputs given = inputs_from(inputs, views);
  const ForwardOutputs wanted = outputs_from(outputs, views);
  const CallOptions chosen = call_options_from(options, inputs[0], given.query);
  CallReport report;
  {
    const nb::gil_scoped_release released;
    report = self.attention(program.program, given, wanted, chosen);
  }
  return tuple_from_report(report);
}

/// A prepared attention with what its captures and lists read.
struct OwnedAttention {
  Attention attention;
  OwnedProgram program;
  nb::object lists;
};

OwnedAttention prepare(Engine& self, const OwnedProgram& program, const nb::tuple& inputs,
                       const nb::tuple& outputs, const nb::tuple& options) {
  OperandViews views;
  Problem problem = problem_from(inputs_from(inputs, views), outputs_from(outputs, views));
  const CallOptions chosen = scale_and_lists_from(options);
  problem.scale = chosen.scale;
  const bool async = nb::cast<bool>(options[2]);
  const auto compiled = [&] {
    const nb::gil_scoped_release released;
    return chosen.block_lists != nullptr
               ? self.prepare(program.program, problem, *chosen.block_lists)
               : self.prepare(program.program, problem, async);
  };
  return {.attention = compiled(), .program = program, .lists = options[1]};
}

nb::tuple run_prepared(const OwnedAttention& self, const nb::tuple& inputs,
                       const nb::tuple& outputs, nb::handle stream) {
  OperandViews views;
  const ForwardInputs given = inputs_from(inputs, views);
  const ForwardOutputs wanted = outputs_from(outputs, views);
  const CallOptions chosen{.stream = stream_of_call(stream, inputs[0], given.query)};
  CallReport report;
  {
    const nb::gil_scoped_release released;
    report = self.attention.forward(given, wanted, chosen);
  }
  return tuple_from_report(report);
}

void bind_prepared(OwnedAttention& self, const std::string& capture, const nb::object& view) {
  self.attention.bind(capture, required_view(view));
  for (nb::object& owner : self.program.owners) {
    if (nb::isinstance<View>(owner) && owner.is(view)) return;
  }
  self.program.owners.push_back(view);
}

void set_prepared(OwnedAttention& self, const std::string& number, nb::handle value) {
  if (PyFloat_Check(value.ptr()))
    self.attention.set(number, nb::cast<double>(value));
  else
    self.attention.set(number, nb::cast<std::int64_t>(value));
}

nb::dict stats_of(const Engine& self) {
  const EngineStats stats = self.stats();
  nb::dict fields;
  fields["compiles"] = stats.compiles;
  fields["memory_hits"] = stats.memory_hits;
  fields["disk_hits"] = stats.disk_hits;
  fields["compile_ms"] = stats.compile_ms;
  fields["calls"] = stats.calls;
  fields["workspace_bytes_peak"] = stats.workspace_bytes_peak;
  nb::dict kernels;
  for (const EngineStats::Choice& choice : stats.kernels)
    kernels[choice.kernel.c_str()] = choice.calls;
  fields["kernels"] = kernels;
  return fields;
}

nb::list targets_as_dicts() {
  nb::list all;
  for (const TargetInfo& target : targets()) {
    nb::dict fields;
    fields["backend"] = target.backend;
    fields["available"] = target.available;
    fields["device"] = target.device;
    fields["reason"] = target.reason;
    fields["kernels"] = nb::cast(target.kernels);
    all.append(fields);
  }
  return all;
}

void merge(const nb::tuple& a, const nb::tuple& b, const nb::tuple& into) {
  OperandViews views;
  const auto part = [&](const nb::tuple& operands) {
    return ForwardOutputs{.out = views.required(operands[0], "out"),
                          .lse = views.optional(operands[1], "lse"),
                          .max_scores = views.optional(operands[2], "max_scores")};
  };
  merge_partials(part(a), part(b), part(into));
}

}  // namespace

void bind_engine(nb::module_& module) {
  nb::class_<OwnedAttention>(module, "Attention")
      .def("forward", &run_prepared, nb::arg("inputs"), nb::arg("outputs"),
           nb::arg("stream").none() = nb::none())
      .def("bind", &bind_prepared, nb::arg("capture"), nb::arg("view"))
      .def("set", &set_prepared, nb::arg("number"), nb::arg("value"))
      .def("ready", [](const OwnedAttention& self) { return self.attention.ready(); })
      .def("wait",
           [](const OwnedAttention& self) {
             const nb::gil_scoped_release released;
             self.attention.wait();
           })
      .def(
          "explain",
          [](const OwnedAttention& self, std::string_view stage) {
            return self.attention.explain(stage);
          },
          nb::arg("stage") = "all");
  nb::class_<Engine> engine(module, "Engine");
  engine
      .def("__init__",
           [](Engine* self, const nb::dict& options) { new (self) Engine(options_from(options)); })
      .def("attention", &run_attention, nb::arg("program"), nb::arg("inputs"), nb::arg("outputs"),
           nb::arg("options"))
      .def("prepare", &prepare, nb::arg("program"), nb::arg("inputs"), nb::arg("outputs"),
           nb::arg("options"))
      .def("stats", &stats_of)
      .def("check_device_errors", [](const Engine& self) { self.check_device_errors(); })
      .def_prop_ro("cache_dir", [](const Engine& self) { return self.options().cache_dir; })
      .def_prop_ro("require_fast", [](const Engine& self) { return self.options().require_fast; });
  bind_backward(engine);
  module.def("engine_option_names", &option_names);
  module.def("targets", &targets_as_dicts);
  module.def("merge_partials", &merge, nb::arg("a"), nb::arg("b"), nb::arg("into"));
}

}  // namespace tilewright::python
