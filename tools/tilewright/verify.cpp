#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "console.h"
#include "exit_code.h"
#include "io/json.h"
#include "progress.h"
#include "support/cases.h"
#include "support/gradient_cases.h"
#include "support/targets.h"
#include "tilewright/error.h"
#include "verb.h"

namespace tilewright::cli {

namespace {

struct VerifyCommand {
  bool all = false;
  std::string case_id;
  std::string target;
  bool grad = false;
  bool json = false;
};

struct Failure {
  std::string case_id;
  std::string target;
  std::string reason;
};

struct Tally {
  std::int64_t passed = 0;
  std::int64_t skipped = 0;
  std::vector<Failure> failures;
  std::map<std::pair<std::string, std::string>, std::int64_t> skips;  ///< by target and reason
  double worst = 0;  ///< largest max error over its bound among those that passed

  void add(const cases::Case& problem, const cases::Target& target,
           const cases::CaseResult& result) {
    switch (result.outcome) {
      case cases::Outcome::kPassed:
        ++passed;
        worst = std::max(worst, result.out_error);
        break;
      case cases::Outcome::kFailed:
        failures.push_back({problem.id(), target.name(), result.reason});
        break;
      case cases::Outcome::kSkipped:
        ++skipped;
        ++skips[{target.name(), result.reason}];
        break;
    }
  }
};

[[noreturn]] void raise_unknown(const std::string& option, const std::string& expected,
                                const std::string& got) {
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = option + " names nothing that can be verified",
               .where = option,
               .expected = expected,
               .got = got,
               .hint = {}});
}

std::vector<cases::Case> chosen_cases(const VerifyCommand& command) {
  constexpr std::size_t kQuickStep = 8;
  if (!command.case_id.empty()) {
    const std::optional<cases::Case> found = cases::find_case(command.case_id);
    if (!found) {
      raise_unknown("--case", "an id such as " + cases::all_cases().front().id(), command.case_id);
    }
    return {*found};
  }
  if (command.all) return cases::all_cases();
  std::vector<cases::Case> quick;
  for (std::size_t i = 0; i < cases::all_cases().size(); i += kQuickStep) {
    quick.push_back(cases::all_cases()[i]);
  }
  return quick;
}

std::vector<cases::Target> chosen_targets(const VerifyCommand& command) {
  if (command.target.empty()) return cases::all_targets();
  std::string names;
  for (const cases::Target& target : cases::all_targets()) {
    if (target.name() == command.target) return {target};
    names += (names.empty() ? "" : ", ") + target.name();
  }
  raise_unknown("--target", names, command.target);
}

io::Json to_json(const Tally& tally) {
  io::Json json;
  json["passed"] = tally.passed;
  json["failed"] = tally.failures.size();
  json["skipped"] = tally.skipped;
  json["worst_error_over_bound"] = tally.worst;
  json["failures"] = io::Json::array();
  for (const Failure& failure : tally.failures) {
    json["failures"].push_back(
        {{"case", failure.case_id}, {"target", failure.target}, {"reason", failure.reason}});
  }
  json["skips"] = io::Json::array();
  for (const auto& [group, count] : tally.skips) {
    json["skips"].push_back({{"target", group.first}, {"cases", count}, {"reason", group.second}});
  }
  return json;
}

std::string to_text(const Tally& tally) {
  std::string text;
  for (const Failure& failure : tally.failures) {
    text +=
        formatted("FAILED {} on {}\n  {}\n  tilewright verify --case {} --target {}\n",
                  failure.case_id, failure.target, failure.reason, failure.case_id, failure.target);
  }
  for (const auto& [group, count] : tally.skips) {
    text += formatted("skipped {} cases on {}: {}\n", count, group.first, group.second);
  }
  return text + formatted(
                    "{} passed, {} failed, {} skipped; the worst error was {:.2f} of its "
                    "bound\n",
                    tally.passed, tally.failures.size(), tally.skipped, tally.worst);
}

int verify(const VerifyCommand& command) {
  const std::vector<cases::Case> problems = chosen_cases(command);
  const std::vector<cases::Target> targets = chosen_targets(command);
  Tally tally;
  {
    Progress progress("verify", static_cast<std::int64_t>(problems.size() * targets.size()));
    for (const cases::Case& problem : problems) {
      cases::CaseRun run(problem);
      for (const cases::Target& target : targets) {
        tally.add(problem, target,
                  command.grad ? cases::run_gradient_case(problem, target) : run.on(target));
        progress.step();
      }
    }
  }
  if (command.json) {
    print_json(to_json(tally));
  } else {
    print(to_text(tally));
  }
  return tally.failures.empty() ? kSuccess : kCheckFailed;
}

}  // namespace

Action declare_verify(OptionList& list) {
  auto command = std::make_shared<VerifyCommand>();
  list.add({.name = "--all",
            .target = &command->all,
            .meaning = "every case of the problem table; else every eighth"});
  list.add({.name = "--case",
            .target = &command->case_id,
            .meaning = "one case, of the full product too",
            .value_name = "ID"});
  list.add({.name = "--target",
            .target = &command->target,
            .meaning = "one target, such as reference or cpu:avx2"});
  list.add({.name = "--grad",
            .target = &command->grad,
            .meaning = "forward and backward: compare every gradient"});
  list.add({.name = "--json",
            .target = &command->json,
            .meaning = "print counts, failures and skips as JSON"});
  list.end_with(
      "The table covers every pair of: program, dtype, lengths, head dims, head groups, shared\n"
      "batch, strides, outputs and scale, on every kernel; docs/semantics.md states the rule.\n"
      "Examples:\n"
      "  tilewright verify\n"
      "  tilewright verify --grad\n"
      "  tilewright verify --all --json");
  return [command] { return verify(*command); };
}

}  // namespace tilewright::cli
