#include "backends/cuda/emit/gradient_text.h"

#include <fmt/format.h>

#include <bit>

#include "backends/cuda/emit/body.h"
#include "backends/cuda/emit/score_form.h"

namespace tilewright::cuda {

using ir::NodeId;
using ir::Op;

namespace {

/// Names that the mods' own functions use.
constexpr const char* kAliases =
    "  using Bindings = EmittedMods::Bindings;\n"
    "  using Int = EmittedMods::Int;\n"
    "  using I = EmittedMods::I;\n"
    "  using W = EmittedMods::W;\n"
    "  using M = EmittedMods::M;\n"
    "  using S = EmittedMods::S;\n";

/// What a function of a pair calls its surroundings.
Surroundings at_pair(const char* key) {
  Surroundings around{.scope = Scope::kScore};
  around.head = "at.head.";
  around.row = "at.row.";
  around.column = "at.column.";
  around.diagonal = "at.diagonal.";
  around.query = "at.pair.i";
  around.key = key;
  return around;
}

bool is_one(const ir::Node& node) {
  return node.op == Op::kLiteral && node.type == ir::Type::kFloat &&
         std::bit_cast<double>(node.payload) == 1.0;
}

/// Statements and the value of one derivative at a pair.
struct PairValue {
  std::string statements;
  std::string value;
};

PairValue value_at_pair(const NodePlan& plan, NodeId id) {
  Surroundings around = at_pair("at.pair.j");
  around.live = "at.pair.i < bindings.q_len && at.pair.j < bindings.kv_len";
  around.live_under_mask = around.live;
  std::string mask;
  if (plan.variant.reports && plan.has_mask()) {
    mask =
        "    const bool kept = EmittedMods::mask(bindings, {at.head, at.row, at.column, at.pair.i, "
        "at.pair.j});\n";
    around.live_under_mask += " && kept";
  }
  Surroundings first = at_pair("at.pair.first_key");
  first.prefix = "f";
  Body body(plan, around);
  Body at_first_key(plan, first);
  const std::string value = ScoreForms(plan, body, at_first_key).value(id);
  return {mask + at_first_key.text() + body.text(), value};
}

}  // namespace

std::string gradient_text(const NodePlan& plan, const ir::Derivative& derivative) {
  const bool is_additive = derivative.d_score && is_one(plan.program.node(*derivative.d_score));
  std::string text = std::string("struct EmittedGradient : IdentityGradient {\n") + kAliases;
  text += fmt::format("  static constexpr bool kHasScoreGradient = {};\n", !is_additive);
  if (is_additive) return text + "};\n";
  PairValue factor{.statements = {}, .value = "0.0f"};
  if (derivative.d_score) factor = value_at_pair(plan, *derivative.d_score);
  return text + fmt::format(
                    "  static __device__ __forceinline__ float d_score(\n"
                    "      const Bindings& bindings, const GradientSite<EmittedMods>& gradient) "
                    "{{\n"
                    "    const ScoreSite<EmittedMods>& at = gradient.score;\n"
                    "    [[maybe_unused]] const float score = at.product * at.scale;\n"
                    "{}    return gradient.d_modified * {};\n  }}\n}};\n",
                    factor.statements, factor.value);
}

namespace {

constexpr const char* kScopeNames[] = {"kHead", "kRow", "kColumn", "kDiagonal", "kPair"};

std::string factor_function(const NodePlan& plan, std::size_t n, const CaptureLoadPlan& load) {
  const PairValue factor = value_at_pair(plan, load.factor);
  return fmt::format(
      "  static __device__ __forceinline__ float factor(\n"
      "      LoadNumber<{}>, const Bindings& bindings, const ScoreSite<EmittedMods>& at) {{\n"
      "    [[maybe_unused]] const float score = at.product * at.scale;\n"
      "{}    return {};\n  }}\n",
      n, factor.statements, factor.value);
}

std::string place_function(const NodePlan& plan, std::size_t n, const CaptureLoadPlan& load) {
  const bool of_pair = load.scope == PlaceScope::kPair;
  Surroundings around = at_pair("at.pair.j");
  if (!of_pair) {
    around = {.head = "head."};
    around.scope = load.scope == PlaceScope::kColumn     ? Scope::kColumn
                   : load.scope == PlaceScope::kDiagonal ? Scope::kDiagonal
                                                         : Scope::kRow;
    around.query = load.scope == PlaceScope::kColumn ? "" : "at";
    around.key = load.scope == PlaceScope::kColumn ? "at" : "";
    around.query_is_diagonal = load.scope == PlaceScope::kDiagonal;
  }
  around.batch_index = "numbers.b";
  around.head_index = "numbers.h";
  Body body(plan, around);
  const std::string place = body.place(load.load);
  return fmt::format(
      "  static __device__ __forceinline__ i64 place(\n"
      "      LoadNumber<{}>, const Bindings& bindings, {}, HeadNumbers numbers{}) {{\n"
      "{}    return {};\n  }}\n",
      n, of_pair ? "const ScoreSite<EmittedMods>& at" : "const Head& head",
      of_pair ? "" : ", i32 at", body.text(), place);
}

}  // namespace

std::string captures_text(const NodePlan& plan, const std::vector<CaptureLoadPlan>& loads) {
  std::string table, functions;
  for (std::size_t n = 0; n < loads.size(); ++n) {
    table += fmt::format("{}{{{}, PlaceScope::{}, {}}}", n == 0 ? "" : ", ", loads[n].target,
                         kScopeNames[static_cast<int>(loads[n].scope)],
                         loads[n].distinct ? "true" : "false");
    functions += factor_function(plan, n, loads[n]) + place_function(plan, n, loads[n]);
  }
  return fmt::format(
      "struct EmittedCaptures {{\n{}"
      "  using Head = EmittedMods::Head;\n"
      "  static constexpr int kLoads = {};\n"
      "  static constexpr __device__ CaptureLoad load(int n) {{\n"
      "    constexpr CaptureLoad all[] = {{{}}};\n"
      "    return all[n];\n  }}\n{}}};\n",
      kAliases, loads.size(), table, functions);
}

}  // namespace tilewright::cuda
