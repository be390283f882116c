#include "trace/tracer.h"

#include <string>
#include <utility>

#include "tilewright/error.h"

namespace tilewright::tracing {

namespace {

const char* name_of(char mod) { return mod == 's' ? "score_mod" : "mask_mod"; }

[[noreturn]] void raise_too_many_paths(char mod) {
  throw Error({.code = ErrorCode::kTrace,
               .what = "the mod has more than " + std::to_string(kMaxPaths) + " paths",
               .where = name_of(mod),
               .expected = "at most " + std::to_string(kMaxPaths) +
                           " combinations of branches on symbolic values",
               .got = "one more",
               .hint = "a loop may not end on a symbolic value; combine truth values with & | ~ "
                       "and choose with select"});
}

[[noreturn]] void raise_impure(char mod) {
  throw Error(
      {.code = ErrorCode::kTrace,
       .what = "the mod is not a pure function: it did something else when run again",
       .where = name_of(mod),
       .expected = "the same operations every time",
       .got = "a side effect, a random number, or state kept between calls",
       .hint = "capture numbers by value and change them between calls, not inside the mod"});
}

}  // namespace

Tracer::Tracer(Recorder& recorder, char mod, std::function<ir::NodeId()> run)
    : recorder_(recorder), mod_(mod), run_(std::move(run)) {}

ir::NodeId Tracer::trace() {
  const Recorder::Scope scope(recorder_);
  first_result_ = run_path({});
  first_conditions_ = recorder_.conditions();
  return explore({});
}

void Tracer::require_same(ir::NodeId result) const {
  if (result != first_result_ || recorder_.conditions() != first_conditions_) raise_impure(mod_);
}

ir::NodeId Tracer::run_path(const std::vector<bool>& forced) {
  recorder_.begin_path(mod_, forced);
  return run_();
}

ir::NodeId Tracer::explore(const std::vector<bool>& forced) {
  if (++paths_ > kMaxPaths) raise_too_many_paths(mod_);
  ir::NodeId joined = run_path(forced);
  if (paths_ == 1) require_same(joined);
  const std::vector<bool> taken = recorder_.decisions();
  const std::vector<ir::NodeId> conditions = recorder_.conditions();
  if (taken.size() < forced.size()) raise_impure(mod_);
  // Decisions past the forced ones were all "true": visit their other sides, innermost first, and
  // join.
  for (std::size_t depth = taken.size(); depth-- > forced.size();) {
    std::vector<bool> other(taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(depth));
    other.push_back(false);
    const ir::NodeId untaken = explore(other);
    joined = recorder_.graph().call("select", {conditions[depth], joined, untaken},
                                    recorder_.graph().literal(true));
  }
  return joined;
}

}  // namespace tilewright::tracing
