#include "backends/cuda/emit/interval_text.h"

#include <fmt/format.h>

#include "backends/cuda/emit/body.h"

namespace tilewright::cuda {

using ir::NodeId;

namespace {

constexpr const char* kMember = "  static __device__ __forceinline__ ";

bool intervals_may_fail(const NodePlan& plan) {
  return plan.intervals &&
         !(plan.intervals->positive.empty() && plan.intervals->not_negative.empty());
}

/// Values of the row alone: what interval() and intervals_hold() see.
Surroundings of_row() {
  Surroundings around{.scope = Scope::kScore, .has_diagonals = false};
  around.head = "head.";
  around.row = "row.";
  around.query = "i";
  return around;
}

/// A run's entry at a key, and what a row compares it with.
std::string run_functions(const NodePlan& plan) {
  std::string entries = fmt::format(
      "{}RunEntry run_entry(const Bindings& bindings, const Head& head, i32 j, int which) {{\n",
      kMember);
  std::string values = fmt::format(
      "{}i64 run_value(const Bindings& bindings, const Head& head, const Row& row, i32 i, "
      "int which) {{\n",
      kMember);
  for (std::size_t n = 0; n < plan.intervals->runs.size(); ++n) {
    const analyse::SortedRun& run = plan.intervals->runs[n];
    Body at_key(plan, of_row());
    std::string subscripts;
    for (std::size_t axis = 0; axis < run.indices.size(); ++axis) {
      const std::string index = at_key.value(run.indices[axis]);
      subscripts += axis == run.axis ? fmt::format(", Int(i64(j) + bindings.kv_base + {})", index)
                                     : fmt::format(", Int({})", index);
    }
    entries += fmt::format(
        "    if (which == {}) {{\n{}    return mods::element<Int, Int>(bindings.c{}, true{});\n"
        "    }}\n",
        n, at_key.text(), run.capture, subscripts);
    Body of_value(plan, of_row());
    const std::string value = of_value.value(run.value);
    values += fmt::format("    if (which == {}) {{\n{}    return i64({});\n    }}\n", n,
                          of_value.text(), value);
  }
  return entries + "    return 0;\n  }\n" + values + "    return 0;\n  }\n";
}

std::string condition_function(const NodePlan& plan) {
  Body body(plan, of_row());
  std::string result;
  for (const NodeId id : plan.intervals->positive)
    result += (result.empty() ? "" : " && ") + body.value(id) + " > 0";
  for (const NodeId id : plan.intervals->not_negative)
    result += (result.empty() ? "" : " && ") + body.value(id) + " >= 0";
  return fmt::format(
      "{}bool intervals_hold(const Bindings& bindings, const Head& head, const Row& row, i32 i) "
      "{{\n{}    return {};\n  }}\n",
      kMember, body.text(), result);
}

}  // namespace

std::string interval_constants(const NodePlan& plan) {
  const std::size_t intervals = plan.intervals ? plan.intervals->ranges.size() : 0;
  const std::string may_fail =
      fmt::format("  static constexpr bool kIntervalsMayFail = {};\n", intervals_may_fail(plan));
  if (!plan.has_sorted_runs())
    return fmt::format("  static constexpr int kRowIntervals = {};\n", intervals) + may_fail;
  // Kernels that know no sorted runs ask the mask.
  return fmt::format(
             "  static constexpr int kRowIntervals = 0;\n"
             "  static constexpr int kSortedIntervals = {};\n"
             "  static constexpr int kSortedRuns = {};\n"
             "  using RunEntry = Int;\n",
             intervals, plan.intervals->runs.size()) +
         may_fail;
}

std::string interval_text(const NodePlan& plan) {
  const bool is_sorted = plan.has_sorted_runs();
  std::string text = fmt::format(
      "{}KeyInterval {}(const Bindings& bindings, const Head& head, const Row& row, i32 i, "
      "int which{}) {{\n",
      kMember, is_sorted ? "sorted_interval" : "interval",
      is_sorted ? ", const KeyInterval (&runs)[kSortedRuns]" : "");
  for (std::size_t n = 0; n < plan.intervals->ranges.size(); ++n) {
    Body body(plan, of_row());
    const std::string begin = body.value(plan.intervals->ranges[n].begin);
    const std::string end = body.value(plan.intervals->ranges[n].end);
    text += fmt::format(
        "    if (which == {}) {{\n{}    return {{mods::key_position({}, bindings.kv_base), "
        "mods::key_position({}, bindings.kv_base)}};\n    }}\n",
        n, body.text(), begin, end);
  }
  text += "    return {0, 0};\n  }\n";
  if (is_sorted) text += run_functions(plan);
  return intervals_may_fail(plan) ? text + condition_function(plan) : text;
}

}  // namespace tilewright::cuda
