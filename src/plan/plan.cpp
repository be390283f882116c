#include "plan/plan.h"

#include <algorithm>

#include "tilewright/error.h"

namespace tilewright::plan {

namespace {

bool serves_dtype(const KernelRow& row, DType dtype) {
  return std::find(row.dtypes.begin(), row.dtypes.end(), dtype) != row.dtypes.end();
}

std::string dim_rejection(const KernelRow& row, std::int64_t dim, const char* name) {
  if (dim < row.min_head_dim || dim > row.max_head_dim) {
    return std::string("serves ") + name + " from " + std::to_string(row.min_head_dim) + " to " +
           std::to_string(row.max_head_dim) + ", got " + std::to_string(dim);
  }
  if (dim % row.head_dim_multiple != 0) {
    return std::string("serves multiples of ") + std::to_string(row.head_dim_multiple) + " as " +
           name + ", got " + std::to_string(dim);
  }
  return {};
}

/// Why a row cannot serve the problem; empty if it can.
std::string rejection_of(const KernelRow& row, const Problem& problem) {
  if (!row.unavailable.empty()) return row.unavailable;
  if (!serves_dtype(row, problem.query_dtype))
    return "does not compute in " + std::string(name(problem.query_dtype));
  if (std::string reason = dim_rejection(row, problem.head_dim, "head dim E"); !reason.empty())
    return reason;
  return dim_rejection(row, problem.value_dim, "value dim Ev");
}

std::string lines_of(const std::vector<Rejection>& rejections) {
  std::string lines;
  for (const Rejection& rejection : rejections)
    lines += "\n    " + rejection.kernel + ": " + rejection.reason;
  return lines;
}

[[noreturn]] void raise_unserved(const Limits& limits, const std::vector<Rejection>& rejections) {
  throw Error({.code = ErrorCode::kUnsupported,
               .what = "no kernel of backend '" + limits.backend + "' serves this problem",
               .where = limits.device,
               .expected = "a kernel whose dtypes and head dims fit",
               .got = lines_of(rejections),
               .hint = "the support matrix in the README lists what each kernel serves"});
}

[[noreturn]] void raise_not_fast(const Plan& plan, const KernelRow& slower) {
  throw Error(
      {.code = ErrorCode::kUnsupported,
       .what = "only a slower kernel serves this problem, and require_fast is set",
       .where = plan.backend + "/" + slower.name,
       .expected = "a fast kernel",
       .got = slower.name + ", because" + lines_of(plan.rejections),
       .hint = "drop require_fast, or see `explain` for why each fast kernel was rejected"});
}

void take(Plan& plan, const Limits& limits, std::size_t index) {
  const KernelRow& row = limits.rows[index];
  plan.row = index;
  plan.kernel = row.name;
  plan.fast = row.fast;
  plan.q_tile_rows = row.q_tile_rows;
  plan.q_band_rows = row.q_band_rows;
  plan.kv_tile_tokens = row.kv_tile_tokens;
  plan.alignment_bytes = row.alignment_bytes;
  plan.split_tokens = kSplitTokens;
}

}  // namespace

Plan choose(const Problem& problem, const Limits& limits, bool require_fast) {
  Plan plan;
  plan.backend = limits.backend;
  const KernelRow* slower = nullptr;  // the most preferred row that serves, if not fast
  for (std::size_t i = 0; i < limits.rows.size(); ++i) {
    const KernelRow& row = limits.rows[i];
    if (std::string reason = rejection_of(row, problem); !reason.empty()) {
      plan.rejections.push_back({row.name, std::move(reason)});
      continue;
    }
    if (require_fast && !row.fast) {
      if (slower == nullptr) slower = &row;
      continue;
    }
    if (slower != nullptr)
      plan.rejections.push_back({slower->name, "is slow, require_fast is set"});
    take(plan, limits, i);
    plan.reasons.push_back("kernel " + row.name + ": the most preferred row that serves " +
                           std::string(name(problem.query_dtype)) + ", E " +
                           std::to_string(problem.head_dim) + ", Ev " +
                           std::to_string(problem.value_dim) + " on " + limits.device);
    return plan;
  }
  if (slower != nullptr) raise_not_fast(plan, *slower);
  raise_unserved(limits, plan.rejections);
}

std::string to_text(const Plan& plan) {
  std::string text =
      "plan: " + plan.backend + "/" + plan.kernel + (plan.fast ? "" : " (slow path)") + "\n";
  text += "  query tile: " + std::to_string(plan.q_tile_rows) + " rows, spans for every " +
          std::to_string(plan.q_band_rows) + "\n";
  text += "  key tile: " + std::to_string(plan.kv_tile_tokens) + " tokens\n";
  text += "  keys split at multiples of " + std::to_string(plan.split_tokens) + " tokens\n";
  for (const std::string& reason : plan.reasons) text += "  because " + reason + "\n";
  for (const Rejection& rejection : plan.rejections)
    text += "  rejected " + rejection.kernel + ": " + rejection.reason + "\n";
  return text;
}

}  // namespace tilewright::plan
