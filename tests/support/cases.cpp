#include "support/cases.h"

#include <algorithm>

#include "support/case_table.h"
#include "support/comparison.h"

namespace tilewright::cases {

namespace {

std::vector<std::size_t> factor_sizes() {
  std::vector<std::size_t> sizes;
  for (const Factor& factor : factors()) sizes.push_back(factor.values.size());
  return sizes;
}

double share(double error, double bound) { return error == 0 ? 0 : error / bound; }

void judge(CaseResult& result, const Results& results, const Reference& reference, DType dtype) {
  const Verdict out = compare_out(results.out, reference, dtype);
  result.out_error = share(out.max_error, out.max_bound);
  result.mean_error = share(out.mean_error, out.mean_bound);
  if (results.lse) result.lse_error = compare_rows(*results.lse, reference.lse, dtype).max_error;
  result.reason = mismatch(results, reference, dtype);
  result.outcome = result.reason.empty() ? Outcome::kPassed : Outcome::kFailed;
}

}  // namespace

std::string Case::id() const {
  std::string id;
  for (std::size_t f = 0; f < choice_.size(); ++f) {
    if (f != 0) id += '-';
    id += factors()[f].values[choice_[f]];
  }
  return id;
}

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases = [] {
    std::vector<Case> rows;
    for (Choice& choice : covering_array(factor_sizes())) rows.emplace_back(std::move(choice));
    return rows;
  }();
  return cases;
}

void for_every_combination(const std::function<void(const Case&)>& visit) {
  const std::vector<std::size_t> sizes = factor_sizes();
  Choice choice(sizes.size(), 0);
  while (true) {
    visit(Case(choice));
    std::size_t f = sizes.size();
    while (f > 0 && ++choice[f - 1] == sizes[f - 1]) choice[--f] = 0;
    if (f == 0) return;
  }
}

std::optional<Case> find_case(std::string_view id) {
  Choice choice;
  for (std::size_t f = 0; f < factors().size(); ++f) {
    const std::string_view word = id.substr(0, id.find('-'));
    const auto& values = factors()[f].values;
    for (std::size_t value = 0; value < values.size(); ++value)
      if (values[value] == word) choice.push_back(value);
    if (choice.size() != f + 1) return std::nullopt;
    id.remove_prefix(std::min(id.size(), word.size() + 1));
  }
  if (!id.empty()) return std::nullopt;
  return Case(choice);
}

CaseRun::CaseRun(const Case& problem)
    : spec_(std::make_unique<CaseSpec>(spec_of(problem))),
      context_(spec_->extents, seed_of(problem.id())),
      program_(spec_->entry.make(context_)),
      operands_(random_operands(spec_->extents, spec_->dtype, seed_of(problem.id()) + 1,
                                spec_->layout)) {}

CaseRun::~CaseRun() = default;

CaseResult CaseRun::on(Engine& engine) {
  CaseResult result;
  const CallOptions options{.scale = spec_->scale, .block_lists = nullptr};
  const ForwardInputs inputs = operands_.inputs();
  const Results results = results_for(inputs, spec_->results);
  try {
    result.kernel = engine.attention(program_, inputs, results.outputs(), options).kernel;
  } catch (const std::exception& error) {
    result.reason = error.what();
    return result;
  }
  if (!reference_)
    reference_.emplace(reference_of(program_, inputs, options, spec_->results.out_dtype));
  judge(result, results, *reference_, spec_->dtype);
  return result;
}

CaseResult CaseRun::on(const Target& target) {
  const auto reason = unavailable_because(target);
  if (!reason) return on(engine_on(target));
  CaseResult result;
  result.outcome = Outcome::kSkipped;
  result.reason = *reason;
  return result;
}

}  // namespace tilewright::cases
