#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "explain_score.h"
#include "ir/program.h"
#include "ir/text.h"
#include "tensor_views.h"
#include "tilewright/error.h"

namespace tilewright::python {

namespace {

/// Every captured slot's name; unlike capture_names() none is left out.
std::vector<std::string> slot_names(const OwnedProgram& self) {
  std::vector<std::string> names;
  for (const auto& slot : self.program.structure().captures()) names.push_back(slot.name);
  return names;
}

/// Every number slot's name; "" where the number was written in the text.
std::vector<std::string> number_slots(const OwnedProgram& self) {
  std::vector<std::string> names;
  for (const auto& slot : self.program.structure().numbers()) names.push_back(slot.name);
  return names;
}

nb::list number_values(const OwnedProgram& self) {
  nb::list values;
  const auto& slots = self.program.structure().numbers();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const ir::NumberValue& value = self.program.bindings().numbers[i];
    if (slots[i].type == ir::Type::kInt)
      values.append(value.integer);
    else
      values.append(value.real);
  }
  return values;
}

/// The text of the structure alone: numbers stand as 2, so that equal structures with equal names
/// have equal texts.
std::string template_text(const OwnedProgram& self) {
  ir::Bindings bindings = self.program.bindings();
  for (ir::NumberValue& number : bindings.numbers) number = {.real = 2.5, .integer = 2};
  return ir::print(self.program.structure(), bindings);
}

/// The same structure with other views and numbers, by slot.
OwnedProgram rebound(OwnedProgram& self, const std::vector<nb::object>& tensors,
                     const nb::object& numbers) {
  ir::Bindings bindings = self.program.bindings();
  const auto& slots = self.program.structure().numbers();
  const bool fits = tensors.size() == bindings.captures.size() && nb::len(numbers) == slots.size();
  if (!fits) {
    throw Error({.code = ErrorCode::kInternal,
                 .what = "a program is bound to another program's captures",
                 .where = {},
                 .expected = std::to_string(bindings.captures.size()) + " captures and " +
                             std::to_string(slots.size()) + " numbers",
                 .got = std::to_string(tensors.size()) + " and " + std::to_string(nb::len(numbers)),
                 .hint = {}});
  }
  std::vector<nb::object> kept;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    nb::object held;
    const std::string& name = self.program.structure().captures()[i].name;
    bindings.captures[i] = view_of_operand(tensors[i], name, held);
    if (held.is_valid()) kept.push_back(std::move(held));
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].type == ir::Type::kInt)
      bindings.numbers[i].integer = nb::cast<std::int64_t>(numbers[i]);
    else
      bindings.numbers[i].real = nb::cast<double>(numbers[i]);
  }
  if (!self.shared) self.shared = std::make_shared<ir::Program>(self.program.structure());
  return {.program = Program(self.shared, std::move(bindings)),
          .owners = tensors,
          .kept = std::move(kept),
          .shared = self.shared};
}

OwnedProgram parse(std::string_view text, const std::map<std::string, nb::object>& captures,
                   const std::map<std::string, nb::object>& numbers) {
  std::vector<Capture> bound;
  for (const auto& [name, view] : captures) bound.emplace_back(name, required_view(view));
  std::vector<Number> values;
  for (const auto& [name, value] : numbers) {
    if (PyFloat_Check(value.ptr()))
      values.emplace_back(name, nb::cast<double>(value));
    else
      values.emplace_back(name, nb::cast<std::int64_t>(value));
  }
  OwnedProgram program{.program = Program::parse(text, bound, values)};
  for (const std::string& name : slot_names(program)) {
    const auto found = captures.find(name);
    program.owners.push_back(found == captures.end() ? nb::none() : found->second);
  }
  return program;
}

void bind_capture(OwnedProgram& self, const std::string& name, const nb::object& view) {
  self.program.bind(name, required_view(view));
  const std::vector<std::string> names = slot_names(self);
  self.owners.resize(names.size(), nb::none());
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) self.owners[i] = view;
}

void set_number(OwnedProgram& self, const std::string& name, nb::handle value) {
  if (PyFloat_Check(value.ptr()))
    self.program.set(name, nb::cast<double>(value));
  else
    self.program.set(name, nb::cast<std::int64_t>(value));
}

/// The table that `tilewright explain --at` prints; `score` absent: the product of the tensors.
std::string explain_at(const OwnedProgram& self, double score, const nb::tuple& at) {
  const ir::Position position{.b = nb::cast<std::int64_t>(at[0]),
                              .h = nb::cast<std::int64_t>(at[1]),
                              .q = nb::cast<std::int64_t>(at[2]),
                              .kv = nb::cast<std::int64_t>(at[3])};
  return cli::to_text(cli::trace_score(self.program, score, position));
}

double score_between(const View& query, const View& key, const nb::tuple& at) {
  return cli::score_of({.query = query.view, .key = key.view, .value = key.view},
                       {.b = nb::cast<std::int64_t>(at[0]),
                        .h = nb::cast<std::int64_t>(at[1]),
                        .q = nb::cast<std::int64_t>(at[2]),
                        .kv = nb::cast<std::int64_t>(at[3])});
}

/// The modified score at one place, in fp64, and whether the pair is live.
std::pair<double, bool> score_at(const OwnedProgram& self, double score, const nb::tuple& at) {
  const ir::Position position{.b = nb::cast<std::int64_t>(at[0]),
                              .h = nb::cast<std::int64_t>(at[1]),
                              .q = nb::cast<std::int64_t>(at[2]),
                              .kv = nb::cast<std::int64_t>(at[3])};
  const cli::ScoreTrace traced = cli::trace_score(self.program, score, position);
  return {traced.score_out, traced.live};
}

}  // namespace

void bind_programs(nb::module_& module) {
  nb::class_<OwnedProgram>(module, "Program")
      .def(nb::init<>())
      .def_static("parse", &parse, nb::arg("text"),
                  nb::arg("captures") = std::map<std::string, nb::object>{},
                  nb::arg("numbers") = std::map<std::string, nb::object>{})
      .def("text", [](const OwnedProgram& self) { return self.program.text(); })
      .def("template_text", &template_text)
      .def("bind", &bind_capture, nb::arg("capture"), nb::arg("view"))
      .def("set", &set_number, nb::arg("number"), nb::arg("value"))
      .def("rebound", &rebound, nb::arg("tensors"), nb::arg("numbers"))
      .def("values_at", &explain_at, nb::arg("score"), nb::arg("at"))
      .def("score_at", &score_at, nb::arg("score"), nb::arg("at"))
      .def_prop_ro("has_score_mod",
                   [](const OwnedProgram& self) { return self.program.has_score_mod(); })
      .def_prop_ro("has_mask_mod",
                   [](const OwnedProgram& self) { return self.program.has_mask_mod(); })
      .def_prop_ro("capture_slots", &slot_names)
      .def_prop_ro("number_names",
                   [](const OwnedProgram& self) { return self.program.number_names(); })
      .def_prop_ro("number_slots", &number_slots)
      .def_prop_ro("number_values", &number_values)
      .def_prop_ro("structure_digest",
                   [](const OwnedProgram& self) { return self.program.structure_digest(); })
      .def_prop_ro("content_digest",
                   [](const OwnedProgram& self) { return self.program.content_digest(); })
      .def_prop_rw(
          "owners", [](const OwnedProgram& self) { return self.owners; },
          [](OwnedProgram& self, std::vector<nb::object> owners) {
            self.owners = std::move(owners);
          });
  module.def("score_between", &score_between, nb::arg("query"), nb::arg("key"), nb::arg("at"));
}

}  // namespace tilewright::python
