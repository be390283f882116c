#include "backends/cuda/emit/mods_text.h"

#include <fmt/format.h>

#include "backends/cuda/emit/bindings_text.h"
#include "backends/cuda/emit/body.h"
#include "backends/cuda/emit/diagonal_text.h"
#include "backends/cuda/emit/gradient_text.h"
#include "backends/cuda/emit/interval_text.h"
#include "backends/cuda/emit/node_plan.h"
#include "backends/cuda/emit/range_body.h"
#include "backends/cuda/emit/score_form.h"

namespace tilewright::cuda {

using ir::NodeId;

namespace {

constexpr const char* kDevice = "  static __device__ __forceinline__ ";

class ModsWriter {
 public:
  explicit ModsWriter(const backends::EmitRequest& request)
      : request_(request), plan_(plan_nodes(request)) {}

  ModsText run() {
    // Ranges come first: they tell which pyramids the bindings hold.
    const std::string ranges = range_functions();
    const std::string functions = value_functions();
    result_.has_mask = plan_.has_mask();
    result_.has_score = plan_.has_score();
    result_.text = "struct EmittedMods : IdentityMods {\n" + aliases() + bindings() + structs() +
                   constants() + functions + ranges + "};\n";
    if (request_.derivative != nullptr) add_derivatives(*request_.derivative);
    return std::move(result_);
  }

 private:
  void add_derivatives(const ir::Derivative& derivative) {
    result_.gradient = gradient_text(plan_, derivative);
    result_.captures = plan_captures(plan_, derivative);
    if (!result_.captures.loads.empty())
      result_.captured = captures_text(plan_, result_.captures.loads);
  }

  std::string aliases() const {
    const char* real = plan_.program.mask_is_f64() ? "double" : "float";
    return fmt::format(
        "  using Int = {0};\n"
        "  using I = mods::Integers<Int>;\n"
        "  using W = mods::Integers<i64>;\n"
        "  using M = mods::MaskArithmetic<{2}>;\n"
        "  using S = mods::{1}ScoreArithmetic;\n"
        "  using Near = mods::NearScoreArithmetic;\n"
        "  using R = mods::IntegerRanges<Int>;\n"
        "  using F = mods::RealRanges<{2}>;\n",
        plan_.variant.fits_int32 ? "i32" : "i64", plan_.variant.fast_functions ? "Fast" : "", real);
  }

  std::string bindings() const {
    const std::size_t bytes = BlockLayout(request_.program, result_.pyramids).bytes();
    return bindings_text(request_.program, request_.program.numbers().size(), result_.pyramids,
                         bytes);
  }

  bool is_member(NodeId id, Scope scope) const {
    return plan_.stored[id] && plan_.scope[id] == scope;
  }

  std::string structs() const {
    std::string text;
    const std::pair<const char*, Scope> all[] = {{"Head", Scope::kHead},
                                                 {"Row", Scope::kRow},
                                                 {"Column", Scope::kColumn},
                                                 {"Diagonal", Scope::kDiagonal}};
    for (const auto& [name, scope] : all) {
      text += fmt::format("  struct {} {{\n", name);
      for (NodeId id = 0; id < plan_.program.size(); ++id)
        if (is_member(id, scope)) text += fmt::format("    {} n{};\n", Body::type(plan_, id), id);
      text += "  };\n";
    }
    text += "  struct Band {\n";
    for (NodeId id = 0; id < plan_.program.size(); ++id)
      if (in_band(id)) text += fmt::format("    {} r{};\n", RangeBody::type(plan_, id), id);
    return text + "  };\n";
  }

  std::string constants() const {
    return fmt::format(
        "  static constexpr bool kHasScoreMod = {};\n"
        "  static constexpr bool kHasMaskMod = {};\n{}",
        plan_.has_score(), plan_.has_mask(), interval_constants(plan_));
  }

  std::string value_functions() const {
    std::string text = member_function(Scope::kHead, "Head", "head", "i32 b, i32 h");
    text += member_function(Scope::kRow, "Row", "row", "const Head& head, i32 i");
    text += member_function(Scope::kColumn, "Column", "column", "const Head& head, i32 j");
    text += member_function(Scope::kDiagonal, "Diagonal", "diagonal",
                            "const Head& head, i32 i_minus_j");
    text += diagonal_run_text(plan_);
    if (plan_.has_mask()) text += mask_function();
    if (plan_.intervals) text += interval_text(plan_);
    if (plan_.has_score()) text += exponent_function();
    return text;
  }

  Surroundings inside(Scope scope) const {
    Surroundings around{.scope = scope};
    around.head = "head.";
    around.batch_index = "b";
    around.head_index = "h";
    around.query = scope == Scope::kDiagonal ? "i_minus_j" : "i";
    around.key = "j";
    around.query_is_diagonal = scope == Scope::kDiagonal;
    if (scope == Scope::kColumn) around.live = "j < bindings.kv_len";
    around.live_under_mask = around.live;
    return around;
  }

  std::string member_function(Scope scope, const char* type, const char* name,
                              const char* parameters) const {
    Body body(plan_, inside(scope));
    std::string results;
    for (NodeId id = 0; id < plan_.program.size(); ++id)
      if (is_member(id, scope)) results += (results.empty() ? "" : ", ") + body.value(id);
    return fmt::format("{}{} {}(const Bindings& bindings, {}) {{\n{}    return {{{}}};\n  }}\n",
                       kDevice, type, name, parameters, body.text(), results);
  }

  static Surroundings at_site(const char* query, const char* key) {
    Surroundings around{.scope = Scope::kScore};
    around.head = "at.head.";
    around.row = "at.row.";
    around.column = "at.column.";
    around.diagonal = "at.diagonal.";
    around.query = query;
    around.key = key;
    return around;
  }

  std::string mask_function() const {
    Surroundings around = at_site("at.i", "at.j");
    around.has_diagonals = false;
    around.live = "at.i < bindings.q_len && at.j < bindings.kv_len";
    Body body(plan_, around);
    const std::string result = body.value(*plan_.program.roots().mask);
    return fmt::format(
        "{}bool mask(const Bindings& bindings, const MaskSite<EmittedMods>& at) {{\n"
        "{}    return {};\n  }}\n",
        kDevice, body.text(), result);
  }

  std::string exponent_function() const {
    Surroundings around = at_site("at.pair.i", "at.pair.j");
    around.live = "at.pair.i < bindings.q_len && at.pair.j < bindings.kv_len";
    around.live_under_mask = around.live;
    std::string mask;
    if (plan_.variant.reports && plan_.has_mask()) {
      mask =
          "    const bool kept = mask(bindings, {at.head, at.row, at.column, at.pair.i, "
          "at.pair.j});\n";
      around.live_under_mask += " && kept";
    }
    Surroundings first = at_site("at.pair.i", "at.pair.first_key");
    first.prefix = "f";
    Body body(plan_, around);
    Body at_first_key(plan_, first);
    const std::string result =
        ScoreForms(plan_, body, at_first_key).exponent(*plan_.program.roots().score);
    const std::string text =
        fmt::format("    [[maybe_unused]] const float score = at.product * at.scale;\n{}{}{}", mask,
                    at_first_key.text(), body.text());
    const auto argument = bounded_argument();
    if (!argument)
      return fmt::format(
          "{}float exponent(const Bindings& bindings, const ScoreSite<EmittedMods>& at) {{\n"
          "{}    return {};\n  }}\n",
          kDevice, text, result);
    return near_functions(text, result, body.value(*argument));
  }

  /// The argument of a score's only tanh or sigmoid, whose values near 0 are cheap to compute.
  std::optional<NodeId> bounded_argument() const {
    // The special-function unit's own tanh is as fast as a polynomial.
    if (plan_.variant.reports || plan_.variant.fast_functions) return std::nullopt;
    const ir::Program& program = plan_.program;
    std::optional<NodeId> argument;
    for (NodeId id = 0; id < program.size(); ++id) {
      const ir::Op op = program.node(id).op;
      if (!plan_.in_score[id] || !plan_.depends_on_score(id) || plan_.in_mask[id]) continue;
      if (op < ir::Op::exp || op > ir::Op::softplus || op == ir::Op::relu) continue;
      if (argument || (op != ir::Op::tanh && op != ir::Op::sigmoid)) return std::nullopt;
      argument = program.operands(id)[0];
    }
    return argument;
  }

  /// The exponent by either arithmetic, and how far the argument lies from 0. A sigmoid is near
  /// where half its argument is; asking for the whole is safe.
  static std::string near_functions(const std::string& text, const std::string& result,
                                    const std::string& argument) {
    const char* parameters = "(const Bindings& bindings, const ScoreSite<EmittedMods>& at) {\n";
    return fmt::format(
        "  template <class S>\n"
        "{0}float exponent_by{1}{2}    return {3};\n  }}\n"
        "{0}float exponent{1}    return exponent_by<S>(bindings, at);\n  }}\n"
        "{0}float exponent_near{1}    return exponent_by<Near>(bindings, at);\n  }}\n"
        "{0}float reach{1}{2}    return ptx::magnitude({4});\n  }}\n"
        "  static constexpr bool kHasNear = true;\n"
        "  static constexpr float kNearLimit = Near::kLimit;\n",
        kDevice, parameters, text, result, argument);
  }

  bool in_band(NodeId id) const {
    return plan_.has_mask() && !plan_.variant.reports && id < plan_.first_appended &&
           plan_.in_mask[id] && is_kept_in_band(plan_, id);
  }

  std::string range_functions() {
    std::string results;
    RangeBody rows(plan_, result_.pyramids, "");
    for (NodeId id = 0; id < plan_.program.size(); ++id)
      if (in_band(id)) results += (results.empty() ? "" : ", ") + rows.range(id);
    std::string text = fmt::format(
        "{}Band band(const Bindings& bindings, const Head& head, i32 q_begin, i32 q_end) {{\n"
        "    [[maybe_unused]] const TileBounds tile = {{q_begin, q_end, 0, 1}};\n"
        "{}    return {{{}}};\n  }}\n",
        kDevice, rows.text(), results);
    RangeBody body(plan_, result_.pyramids, "band.");
    // A fault must be found in every pair that the mask decides.
    std::string result = plan_.has_mask() ? "TileClass::kPartial" : "TileClass::kFull";
    if (plan_.has_mask() && !plan_.variant.reports)
      result = "mods::class_of(" + body.range(*plan_.program.roots().mask) + ")";
    return text + fmt::format(
                      "{}TileClass classify(const Bindings& bindings, const Head& head, "
                      "const Band& band, const TileBounds& tile) {{\n{}    return {};\n  }}\n",
                      kDevice, body.text(), result);
  }

  const backends::EmitRequest& request_;
  NodePlan plan_;
  ModsText result_;
};

}  // namespace

ModsText mods_text(const backends::EmitRequest& request) { return ModsWriter(request).run(); }

}  // namespace tilewright::cuda
