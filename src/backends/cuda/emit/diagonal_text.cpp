#include "backends/cuda/emit/diagonal_text.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "backends/cuda/emit/body.h"

namespace tilewright::cuda {

using ir::NodeId;

namespace {

/// A load of which one subscript follows the diagonal.
struct RunLoad {
  NodeId id;
  std::size_t axis;
  bool ascends;  ///< the subscript grows with i - j
};

bool is_live_everywhere(const NodePlan& plan, NodeId load) {
  const ir::Node& guard = plan.program.node(plan.program.operands(load).back());
  return guard.op == ir::Op::kLiteral && guard.payload != 0;
}

std::optional<RunLoad> run_load(const NodePlan& plan, NodeId id) {
  if (plan.program.node(id).op != ir::Op::kLoad || !is_live_everywhere(plan, id)) return {};
  const auto operands = plan.program.operands(id);
  std::optional<RunLoad> found;
  for (std::size_t axis = 0; axis + 1 < operands.size(); ++axis) {
    if (plan.scope[operands[axis]] == Scope::kHead) continue;
    const auto& form = plan.facts.affine[operands[axis]];
    if (found || !form || (form->q_factor != 1 && form->q_factor != -1)) return {};
    found = RunLoad{.id = id, .axis = axis, .ascends = form->q_factor == 1};
  }
  return found;
}

/// Empty where something else is kept too.
std::vector<RunLoad> run_loads(const NodePlan& plan) {
  std::vector<RunLoad> all;
  if (plan.variant.reports) return all;
  for (NodeId id = 0; id < plan.program.size(); ++id) {
    if (!plan.stored[id] || plan.scope[id] != Scope::kDiagonal) continue;
    const auto load = run_load(plan, id);
    if (!load) return {};
    all.push_back(*load);
  }
  return all;
}

}  // namespace

std::string diagonal_run_text(const NodePlan& plan) {
  const std::vector<RunLoad> loads = run_loads(plan);
  if (loads.empty()) return {};
  Surroundings around{.scope = Scope::kDiagonal};
  around.head = "head.";
  around.query = "first";
  around.query_is_diagonal = true;
  Body body(plan, around);
  std::string members;
  std::string conditions;
  std::string values;
  for (const RunLoad& load : loads) {
    const auto capture = plan.program.node(load.id).payload;
    const std::string subscripts = body.subscripts(load.id);
    members += fmt::format("    decltype(Bindings::c{}.data) p{};\n", capture, load.id);
    conditions += fmt::format("{}mods::find_run<Int, {}, {}>(bindings.c{}, last, run.p{}{})",
                              conditions.empty() ? "" : " && ", load.axis, load.ascends, capture,
                              load.id, subscripts);
    values += fmt::format("{}mods::value_of<{}>(run.p{}[{}back])", values.empty() ? "" : ", ",
                          Body::type(plan, load.id), load.id, load.ascends ? "-" : "");
  }
  return fmt::format(
      "  static constexpr bool kDiagonalsRun = true;\n"
      "  struct DiagonalRun {{\n{0}  }};\n"
      "  static __device__ __forceinline__ bool diagonal_run(const Bindings& bindings, "
      "const Head& head, i32 first, i32 last, DiagonalRun& run) {{\n{1}    return {2};\n  }}\n"
      "  static __device__ __forceinline__ Diagonal diagonal_in(const DiagonalRun& run, i32 back) "
      "{{\n    return {{{3}}};\n  }}\n",
      members, body.text(), conditions, values);
}

}  // namespace tilewright::cuda
