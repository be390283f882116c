#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "cuda_emit/emitted_case.h"
#include "ir/interpret.h"
#include "support/entry.h"
#include "support/every_subscript.h"
#include "support/random.h"
#include "support/random_program.h"
#include "tilewright/error.h"

/// Emitted derivatives of score_mod by the score and by captured loads, translated by the host
/// compiler, against the interpreter; and which elements the loads read.
namespace tilewright::test {
namespace {

ir::DerivativeRequest every_gradient(const ir::Program& program) {
  ir::DerivativeRequest request;
  for (const ir::CaptureSlot& slot : program.captures())
    request.captures.push_back(is_floating(slot.dtype));
  return request;
}

class GradientCase {
 public:
  GradientCase(std::string name, const Program& program, const Problem& problem,
               backends::Variant variant, HostPrograms& batch)
      : name_(std::move(name)),
        program_(program),
        problem_(problem),
        derivative_(ir::differentiate(program.structure(), every_gradient(program.structure()))),
        facts_(analyse::structure_facts(*derivative_.program)) {
    const plan::Plan plan;
    mods_ = cuda::mods_text({.program = *derivative_.program,
                             .facts = facts_,
                             .plan = plan,
                             .problem = problem,
                             .variant = variant,
                             .derivative = &derivative_});
    number_ = batch.add(mods_);
  }

  void check(const HostPrograms& batch, int pairs) const {
    SCOPED_TRACE(name_);
    const HostBlock block(*derivative_.program, program_.bindings(), problem_, mods_.pyramids);
    ir::Interpreter interpreter(*derivative_.program, program_.bindings());
    const std::vector<PairQuery> queries = random_pairs(pairs);
    const std::vector<DerivativeResult> results = batch.derivatives(number_, block, queries);
    for (std::size_t k = 0; k < queries.size(); ++k)
      check_pair(interpreter, queries[k], results[k]);
    if (::testing::Test::HasFailure())
      ADD_FAILURE() << mods_.text << mods_.gradient << mods_.captured;
  }

 private:
  std::vector<PairQuery> random_pairs(int count) const {
    cases::Random random(83);
    const auto below = [&](std::int64_t extent) {
      return static_cast<std::int32_t>(random.between(0, extent - 1));
    };
    std::vector<PairQuery> queries;
    for (int k = 0; k < count; ++k)
      queries.push_back({.b = below(problem_.batch),
                         .h = below(problem_.query_heads),
                         .i = below(problem_.q_len),
                         .j = below(problem_.kv_len),
                         .product = static_cast<float>(random.normal() * 4),
                         .scale = 0.25F});
    return queries;
  }

  void check_pair(ir::Interpreter& interpreter, const PairQuery& query,
                  const DerivativeResult& got) const {
    const ir::Position at{.b = query.b,
                          .h = query.h,
                          .q = query.i + problem_.q_base,
                          .kv = query.j + problem_.kv_base};
    const double score = static_cast<double>(query.product * query.scale);
    try {
      if (!interpreter.mask(at)) return;
      double size = std::fabs(score);
      for (const ir::NodeValue& value : interpreter.values(score, at))
        if (std::fabs(value.real) < 1e30) size = std::max(size, std::fabs(value.real));
      const std::vector<double>& derivatives = interpreter.derivatives(score, at);
      const auto value_of = [&](ir::NodeId id) {
        const std::vector<ir::NodeId>& roots = derivative_.program->roots().derivatives;
        return derivatives.at(
            static_cast<std::size_t>(std::find(roots.begin(), roots.end(), id) - roots.begin()));
      };
      for (const double value : derivatives)
        if (std::fabs(value) < 1e30) size = std::max(size, std::fabs(value));
      const double want = derivative_.d_score ? value_of(*derivative_.d_score) : 0;
      expect_near(got.d_score, want, size, "d score", at);
      for (std::size_t n = 0; n < derivative_.loads.size(); ++n) {
        const ir::LoadDerivative& load = derivative_.loads[n];
        expect_near(got.factor[n], value_of(load.factor), size, "d load", at);
        check_place(interpreter, load, got.place[n]);
      }
    } catch (const Error&) {
      // A fault of the program, which is another test's.
    }
  }

  void check_place(const ir::Interpreter& interpreter, const ir::LoadDerivative& load,
                   std::int64_t got) const {
    const std::optional<Dims> subscripts = interpreter.subscripts(load.load);
    if (!subscripts) return;  // the load is not reached
    const TensorView& tensor = program_.bindings().captures[load.capture];
    std::int64_t number = 0;
    for (std::size_t axis = 0; axis < subscripts->size(); ++axis)
      number = number * tensor.shape[axis] + (*subscripts)[axis];
    ASSERT_EQ(got, number) << "load " << load.load;
  }

  static void expect_near(double got, double want, double size, const char* what,
                          const ir::Position& at) {
    if (!std::isfinite(want)) return;
    ASSERT_NEAR(got, want, 2e-5 * std::max(1.0, size))
        << what << " at " << at.b << " " << at.h << " " << at.q << " " << at.kv;
  }

  std::string name_;
  Program program_;
  Problem problem_;
  ir::Derivative derivative_;
  analyse::StructureFacts facts_;
  cuda::ModsText mods_;
  std::size_t number_ = 0;
};

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

constexpr cases::Extents kExtents{.batch = 2,
                                  .kv_batch = 2,
                                  .query_heads = 3,
                                  .kv_heads = 3,
                                  .q_len = 70,
                                  .kv_len = 90,
                                  .head_dim = 64,
                                  .value_dim = 64};

TEST(EmittedGradients, EntriesAndEverySubscript) {
  const Problem problem = small_problem(kExtents);
  HostPrograms batch;
  std::deque<cases::EntryContext> contexts;
  std::deque<GradientCase> made;
  const auto add = [&](const std::string& name, const Program& program) {
    for (const backends::Variant variant : variants_of(program, problem))
      made.emplace_back(name, program, problem, variant, batch);
  };
  for (const cases::Entry& entry : cases::entries()) {
    contexts.emplace_back(kExtents, 11);
    const Program program = entry.make(contexts.back());
    if (program.structure().roots().score) add(entry.name, program);
  }
  contexts.emplace_back(kExtents, 12);
  add("every subscript", cases::every_subscript(contexts.back()));
  batch.build();
  for (const GradientCase& one : made) {
    one.check(batch, 100);
    if (HasFailure()) return;
  }
}

TEST(EmittedGradients, RandomPrograms) {
  Problem problem = small_problem({.batch = 2, .query_heads = 3, .q_len = 40, .kv_len = 60});
  HostPrograms batch;
  std::deque<cases::RandomProgram> programs;
  std::deque<GradientCase> made;
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    programs.push_back(cases::random_program(seed, {.fp64_captures = false, .may_fault = false}));
    problem.q_base = static_cast<std::int64_t>(seed % 4) * 7;
    const Program program = programs.back().program();
    for (const backends::Variant variant : variants_of(program, problem))
      made.emplace_back("seed " + std::to_string(seed), program, problem, variant, batch);
  }
  batch.build();
  for (const GradientCase& one : made) {
    one.check(batch, 60);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tilewright::test
