#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include <array>
#include <bit>

#include "author/access.h"
#include "bindings.h"
#include "ir/program.h"

namespace tilewright::python {

namespace {

using Views = std::map<std::string, nb::object>;

/// Replays the nodes of one program inside the trace that is running.
class Replay {
 public:
  Replay(const ir::Program& program, const ir::Bindings& bindings, const Views& views,
         std::array<ir::NodeId, 4> inputs)
      : program_(program), bindings_(bindings), views_(views), inputs_(inputs) {}

  ir::NodeId root(ir::NodeId wanted) {
    for (ir::NodeId id = 0; id <= wanted; ++id) mapped_.push_back(replayed(id));
    return mapped_[wanted];
  }

 private:
  ir::NodeId replayed(ir::NodeId id) {
    const ir::Node& node = program_.node(id);
    switch (node.op) {
      case ir::Op::kScore:
        return recorder_.graph().literal(0.0);
      case ir::Op::kBatch:
      case ir::Op::kHead:
      case ir::Op::kQuery:
      case ir::Op::kKey:
        return inputs_[static_cast<std::size_t>(node.op) -
                       static_cast<std::size_t>(ir::Op::kBatch)];
      case ir::Op::kLiteral:
        return literal(node);
      case ir::Op::kNumber:
        return number(node);
      case ir::Op::kLoad:
        return load(id);
      default:
        return recorder_.graph().apply(node.op, operands(id));
    }
  }

  ir::NodeId literal(const ir::Node& node) {
    ir::Graph& graph = recorder_.graph();
    if (node.type == ir::Type::kFloat) return graph.literal(std::bit_cast<double>(node.payload));
    if (node.type == ir::Type::kInt) return graph.literal(static_cast<std::int64_t>(node.payload));
    return graph.literal(node.payload != 0);
  }

  ir::NodeId number(const ir::Node& node) {
    const ir::NumberValue& value = bindings_.numbers[node.payload];
    return node.type == ir::Type::kFloat ? recorder_.number(value.real)
                                         : recorder_.number(value.integer);
  }

  ir::NodeId load(ir::NodeId id) {
    const std::string& name = program_.captures()[program_.node(id).payload].name;
    const std::uint32_t slot = recorder_.capture(name, required_view(views_.at(name)));
    std::vector<ir::NodeId> indices = operands(id);
    const std::array guards{indices.back(), recorder_.guard()};
    indices.pop_back();
    return recorder_.graph().load(slot, indices, recorder_.graph().apply(ir::Op::band, guards));
  }

  std::vector<ir::NodeId> operands(ir::NodeId id) {
    std::vector<ir::NodeId> nodes;
    for (ir::NodeId operand : program_.operands(id)) nodes.push_back(mapped_[operand]);
    return nodes;
  }

  const ir::Program& program_;
  const ir::Bindings& bindings_;
  const Views& views_;
  std::array<ir::NodeId, 4> inputs_;
  tracing::Recorder& recorder_ = tracing::Recorder::current();
  std::vector<ir::NodeId> mapped_;
};

/// The mask of `program` at these symbols (b, h, q, kv), as part of the running trace.
nb::object inline_mask(const OwnedProgram& program, const Views& views, const nb::tuple& symbols) {
  std::array<ir::NodeId, 4> inputs{};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    inputs[i] = author::Access::node(operand(symbols[i]).value());
  const ir::Program& structure = program.program.structure();
  if (!structure.roots().mask) return wrap(Value(true));
  Replay replay(structure, program.program.bindings(), views, inputs);
  return wrap(author::Access::wrap(replay.root(*structure.roots().mask)));
}

}  // namespace

void bind_inline(nb::module_& module) {
  module.def("inline_mask", &inline_mask, nb::arg("program"), nb::arg("views"), nb::arg("symbols"));
}

}  // namespace tilewright::python
