#include "fuzz/fuzz_run.h"

#include <functional>

#include "fuzz/fuzz_program.h"
#include "support/targets.h"
#include "tilewright/error.h"

namespace tilewright::cases {

namespace {

/// More forks than a mod may have: such a program is refused, as it should be.
bool too_many_paths(const Error& error) { return error.code() == ErrorCode::kTrace; }

std::string text_failure(const Program& program) {
  const Program parsed = Program::parse(program.text());
  if (parsed.structure_digest() != program.structure_digest())
    return "print and parse change the structure";
  if (parsed.content_digest() != program.content_digest()) return "print and parse change numbers";
  return {};
}

std::string target_failure(const FuzzCase& problem, const Program& program,
                           const Operands& operands, const Reference& reference) {
  for (const Target& target : available_targets()) {
    if (target.backend == "reference") continue;
    const Results results =
        results_for(operands.inputs(), {.out_dtype = {}, .layout = problem.layout});
    engine_on(target).attention(program, operands.inputs(), results.outputs());
    const std::string reason = mismatch(results, reference, problem.dtype);
    if (!reason.empty()) return target.name() + ": " + reason;
  }
  return {};
}

std::string unguarded_failure_of(const FuzzCase& problem) {
  const FuzzProgram made = fuzz_program(problem);
  std::string reason = text_failure(made.program);
  if (!reason.empty()) return reason;
  const Operands operands =
      random_operands(problem.extents, problem.dtype, problem.seed + 81, problem.layout);
  const Reference reference = reference_of(made.program, operands.inputs());
  return target_failure(problem, made.program, operands, reference);
}

using Step = std::function<FuzzCase(FuzzCase)>;

/// Steps that make a case smaller, the boldest first.
std::vector<Step> shrinking_steps(const FuzzCase& problem) {
  std::vector<Step> steps;
  const auto set = [&](std::int64_t Extents::* member, std::int64_t value) {
    if (problem.extents.*member <= value) return;
    steps.emplace_back([=](FuzzCase c) {
      c.extents.*member = value;
      return c;
    });
  };
  steps.emplace_back([](FuzzCase c) {
    c.extents.batch = c.extents.kv_batch = 1;
    return c;
  });
  steps.emplace_back([](FuzzCase c) {
    c.extents.query_heads = c.extents.kv_heads = 1;
    return c;
  });
  for (const auto member :
       {&Extents::q_len, &Extents::kv_len, &Extents::head_dim, &Extents::value_dim}) {
    const std::int64_t now = problem.extents.*member;
    for (const std::int64_t value : {std::int64_t{1}, now / 2, now - 1}) set(member, value);
  }
  steps.emplace_back([](FuzzCase c) {
    c.layout = Layout::kContiguous;
    return c;
  });
  steps.emplace_back([](FuzzCase c) {
    c.dtype = DType::kF32;
    return c;
  });
  for (const std::string& path : fuzz_program(problem).paths)
    steps.emplace_back([path](FuzzCase c) {
      c.pruned.insert(path);
      return c;
    });
  return steps;
}

}  // namespace

std::string failure_of(const FuzzCase& problem) {
  try {
    return unguarded_failure_of(problem);
  } catch (const Error& error) {
    if (too_many_paths(error)) return {};
    return error.what();
  } catch (const std::exception& error) {
    return error.what();
  }
}

FuzzCase shrink(const FuzzCase& failing) {
  FuzzCase smallest = failing;
  for (bool progress = true; progress;) {
    progress = false;
    for (const Step& step : shrinking_steps(smallest)) {
      const FuzzCase smaller = step(smallest);
      if (smaller.spec() == smallest.spec() || failure_of(smaller).empty()) continue;
      smallest = smaller;
      progress = true;
      break;
    }
  }
  return smallest;
}

std::string reproduction(const FuzzCase& problem) {
  return "build/tests/test_fuzz --case '" + problem.spec() + "'";
}

}  // namespace tilewright::cases
