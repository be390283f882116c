#include <gtest/gtest.h>

#include <deque>

#include "cuda_emit/emitted_case.h"
#include "support/entry.h"
#include "support/random_program.h"

/// The text that NVRTC would compile, translated by the host compiler over stand-ins for what CUDA
/// has built in, against the interpreter: every entry of the problem table and the catalogue, and
/// random programs.
namespace tilewright::test {
namespace {

Problem small_problem(const cases::Extents& extents) {
  Problem problem;
  problem.batch = problem.kv_batch = extents.batch;
  problem.query_heads = problem.kv_heads = extents.query_heads;
  problem.q_len = extents.q_len;
  problem.kv_len = extents.kv_len;
  problem.head_dim = problem.value_dim = 64;
  problem.query_dtype = problem.key_dtype = problem.value_dtype = problem.out_dtype = DType::kBF16;
  return problem;
}

TEST(EmittedMods, EntriesOfTheTableAndTheCatalogue) {
  const cases::Extents extents{.batch = 2,
                               .kv_batch = 2,
                               .query_heads = 3,
                               .kv_heads = 3,
                               .q_len = 150,
                               .kv_len = 170,
                               .head_dim = 64,
                               .value_dim = 64};
  const Problem problem = small_problem(extents);
  HostPrograms batch;
  std::deque<cases::EntryContext> contexts;
  std::deque<EmittedCase> made;
  for (const cases::Entry& entry : cases::entries()) {
    contexts.emplace_back(extents, 11);
    const Program program = entry.make(contexts.back());
    for (const backends::Variant variant : variants_of(program, problem))
      made.emplace_back(entry.name, program, problem, variant, batch);
  }
  batch.build();
  for (const EmittedCase& one : made) {
    one.check(batch, 120);
    if (HasFatalFailure() || HasFailure()) return;
  }
}

TEST(EmittedMods, RandomPrograms) {
  Problem problem = small_problem({.batch = 2, .query_heads = 3, .q_len = 40, .kv_len = 60});
  HostPrograms batch;
  std::deque<cases::RandomProgram> programs;
  std::deque<EmittedCase> made;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    programs.push_back(
        cases::random_program(seed, {.fp64_captures = seed % 5 == 4, .may_fault = seed % 3 == 2}));
    problem.q_base = static_cast<std::int64_t>(seed % 4) * 7;
    problem.kv_base = static_cast<std::int64_t>(seed % 3) * 5;
    const Program program = programs.back().program();
    for (const backends::Variant variant : variants_of(program, problem))
      made.emplace_back("seed " + std::to_string(seed), program, problem, variant, batch);
  }
  batch.build();
  for (const EmittedCase& one : made) {
    one.check(batch, 80);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tilewright::test
