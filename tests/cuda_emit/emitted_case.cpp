#include "cuda_emit/emitted_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "ir/interpret.h"
#include "support/random.h"
#include "tilewright/error.h"

namespace tilewright::test {

namespace {

constexpr double kLn2 = 0.69314718055994531;

std::int32_t at_most(cases::Random& random, std::int64_t extent) {
  return static_cast<std::int32_t>(random.between(0, extent - 1));
}

std::vector<PairQuery> random_pairs(const Problem& problem, int count) {
  cases::Random random(71);
  std::vector<PairQuery> queries;
  for (int k = 0; k < count; ++k) {
    PairQuery at;
    at.b = at_most(random, problem.batch);
    at.h = at_most(random, problem.query_heads);
    at.i = at_most(random, problem.q_len);
    at.j = at_most(random, problem.kv_len);
    at.product = static_cast<float>(random.normal() * 8);
    at.scale = 0.25F;
    queries.push_back(at);
  }
  return queries;
}

ir::Position position(const Problem& problem, const PairQuery& at) {
  return {.b = at.b, .h = at.h, .q = at.i + problem.q_base, .kv = at.j + problem.kv_base};
}

/// The size of what a score is computed from: what its rounding errors are measured by.
double magnitude(const ir::Program& program, ir::Interpreter& interpreter, double score,
                 const ir::Position& at) {
  const auto values = interpreter.values(score, at);
  double largest = std::fabs(score);
  for (ir::NodeId id = 0; id < program.size(); ++id) {
    const double size = program.node(id).type == ir::Type::kInt
                            ? std::fabs(static_cast<double>(values[id].integer))
                            : std::fabs(values[id].real);
    if (std::isfinite(size) && size < 1e30) largest = std::max(largest, size);
  }
  return largest;
}

bool is_near(double got, double want, double tolerance) {
  if (want != want) return got != got;
  return got == want || std::fabs(got - want) <= tolerance;
}

}  // namespace

cuda::ModsText emitted_mods(const ir::Program& program, const Problem& problem,
                            backends::Variant variant) {
  const analyse::StructureFacts facts = analyse::structure_facts(program);
  const plan::Plan plan;
  return cuda::mods_text(
      {.program = program, .facts = facts, .plan = plan, .problem = problem, .variant = variant});
}

std::vector<backends::Variant> variants_of(const Program& program, const Problem& problem) {
  const analyse::BindingFacts facts =
      analyse::binding_facts(program.structure(), program.bindings(), problem);
  const bool checked = !(facts.subscripts_in_range && facts.divisors_nonzero);
  std::vector<backends::Variant> variants = {
      {.fits_int32 = false, .checked = true},
      {.fits_int32 = false, .checked = true, .reports = true}};
  if (facts.fits_int32) variants.push_back({.fits_int32 = true, .checked = checked});
  return variants;
}

EmittedCase::EmittedCase(std::string name, const Program& program, const Problem& problem,
                         backends::Variant variant, HostPrograms& batch)
    : name_(std::move(name)),
      program_(program),
      problem_(problem),
      variant_(variant),
      mods_(emitted_mods(program_.structure(), problem, variant)),
      number_(batch.add(mods_)) {}

void EmittedCase::check(const HostPrograms& batch, int pairs) const {
  SCOPED_TRACE(name_ + (variant_.fits_int32 ? ", 32 bits" : ", 64 bits") +
               (variant_.reports ? ", reports" : ""));
  HostBlock block(program_.structure(), program_.bindings(), problem_, mods_.pyramids);
  check_pairs(batch, block, pairs);
  if (variant_.reports) check_faults(batch, block, pairs);
  if (mods_.has_mask && !variant_.reports) check_tiles(batch, block);
  if (::testing::Test::HasFailure()) ADD_FAILURE() << name_ << "\n" << mods_.text;
}

void EmittedCase::check_pairs(const HostPrograms& batch, HostBlock& block, int pairs) const {
  const ir::Program& program = program_.structure();
  ir::Interpreter interpreter(program, program_.bindings());
  const std::vector<PairQuery> queries = random_pairs(problem_, pairs);
  const std::vector<PairResult> results = batch.pairs(number_, block, queries);
  for (std::size_t k = 0; k < queries.size(); ++k) {
    const ir::Position at = position(problem_, queries[k]);
    const double score = static_cast<double>(queries[k].product * queries[k].scale);
    try {
      const bool live = interpreter.mask(at);
      ASSERT_EQ(results[k].mask != 0, live)
          << "b h q kv " << at.b << " " << at.h << " " << at.q << " " << at.kv;
      if (results[k].intervals >= 0) {
        ASSERT_EQ(results[k].intervals != 0, live) << at.q << " " << at.kv;
      }
      if (!live) continue;
      const double want = interpreter.score(score, at);
      const double plain = interpreter.score_f32(static_cast<float>(score), at);
      const double got = results[k].exponent * kLn2;
      const double scale = magnitude(program, interpreter, score, at);
      const double tolerance = 4e-6 * std::max(1.0, scale) +
                               4 * (std::isfinite(plain - want) ? std::fabs(plain - want) : 0);
      ASSERT_TRUE(is_near(got, want, tolerance) || is_near(got, plain, tolerance))
          << "b h q kv " << at.b << " " << at.h << " " << at.q << " " << at.kv << " score " << score
          << ": got " << got << ", want " << want << ", in fp32 " << plain;
    } catch (const Error&) {
      continue;  // check_faults looks at these
    }
  }
}

void EmittedCase::check_faults(const HostPrograms& batch, HostBlock& block, int pairs) const {
  ir::Interpreter interpreter(program_.structure(), program_.bindings());
  for (const PairQuery& query : random_pairs(problem_, pairs)) {
    std::optional<ErrorCode> want;
    try {
      const ir::Position at = position(problem_, query);
      if (interpreter.mask(at)) interpreter.score(query.product * query.scale, at);
    } catch (const Error& error) {
      want = error.code();
    }
    block.fault() = {};
    (void)batch.pairs(number_, block, {&query, 1});
    ASSERT_EQ(block.fault().code != 0, want.has_value()) << query.i << " " << query.j;
  }
}

void EmittedCase::check_tiles(const HostPrograms& batch, const HostBlock& block) const {
  ir::Interpreter interpreter(program_.structure(), program_.bindings());
  cases::Random random(5);
  std::vector<TileQuery> queries;
  for (int k = 0; k < 60; ++k) {
    TileQuery tile{.b = at_most(random, problem_.batch),
                   .h = at_most(random, problem_.query_heads)};
    tile.q_begin = at_most(random, problem_.q_len);
    tile.kv_begin = at_most(random, problem_.kv_len);
    tile.q_end = std::min<std::int32_t>(tile.q_begin + 1 + at_most(random, 9),
                                        static_cast<std::int32_t>(problem_.q_len));
    tile.kv_end = std::min<std::int32_t>(tile.kv_begin + 1 + at_most(random, 9),
                                         static_cast<std::int32_t>(problem_.kv_len));
    queries.push_back(tile);
  }
  const std::vector<std::int32_t> classes = batch.classes(number_, block, queries);
  for (std::size_t k = 0; k < queries.size(); ++k) {
    if (classes[k] == 1) continue;
    const TileQuery& tile = queries[k];
    for (std::int32_t i = tile.q_begin; i < tile.q_end; ++i)
      for (std::int32_t j = tile.kv_begin; j < tile.kv_end; ++j) {
        const PairQuery at{.b = tile.b, .h = tile.h, .i = i, .j = j};
        ASSERT_EQ(interpreter.mask(position(problem_, at)), classes[k] == 2)
            << "rows " << tile.q_begin << " " << tile.q_end << " keys " << tile.kv_begin << " "
            << tile.kv_end << " at " << i << " " << j;
      }
  }
}

}  // namespace tilewright::test
