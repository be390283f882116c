#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "analyse/facts.h"
#include "ir/interpret.h"
#include "support/random.h"
#include "support/random_program.h"
#include "tilewright/error.h"

namespace tilewright {
namespace {

constexpr std::int64_t kRows = 20;
constexpr std::int64_t kKeys = 23;

Problem problem() {
  Problem made;
  made.batch = 2;
  made.query_heads = 3;
  made.kv_heads = 3;
  made.q_len = kRows;
  made.kv_len = kKeys;
  return made;
}

/// What running a program at every position of the problem shows.
struct Seen {
  bool index_fault = false;
  bool division_fault = false;
  bool beyond_int32 = false;
  double score_low = std::numeric_limits<double>::infinity();
  double score_high = -std::numeric_limits<double>::infinity();
};

void look(const cases::RandomProgram& made, const ir::Position& at, double score, Seen& seen) {
  ir::Interpreter interpreter(*made.structure, made.bindings);
  try {
    if (!interpreter.mask(at)) return;
    const double result = interpreter.score(score, at);
    if (std::isfinite(result)) {
      seen.score_low = std::min(seen.score_low, result);
      seen.score_high = std::max(seen.score_high, result);
    }
    const auto values = interpreter.values(score, at);
    for (ir::NodeId id = 0; id < made.structure->size(); ++id)
      seen.beyond_int32 |= made.structure->node(id).type == ir::Type::kInt &&
                           values[id].integer != static_cast<std::int32_t>(values[id].integer);
  } catch (const Error& error) {
    seen.index_fault |= error.code() == ErrorCode::kIndexOutOfRange;
    seen.division_fault |= error.code() == ErrorCode::kDivisionByZero;
  }
}

Seen look_everywhere(const cases::RandomProgram& made, std::uint64_t seed) {
  Seen seen;
  cases::Random random(seed);
  for (std::int64_t i = 0; i < 6 * kRows; ++i)
    for (std::int64_t kv = 0; kv < kKeys; ++kv)
      look(made, {i / kRows / 3, i / kRows % 3, i % kRows, kv}, 5 * random.normal(), seen);
  return seen;
}

TEST(RandomPrograms, FactsHoldAtEveryPosition) {
  int proven = 0;
  int faulty = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    cases::RandomProgramOptions options;
    options.may_fault = true;
    options.mask_operations = 6;
    options.score_operations = 8;
    const cases::RandomProgram made = cases::random_program(seed, options);
    const analyse::BindingFacts facts =
        analyse::binding_facts(*made.structure, made.bindings, problem());
    const Seen seen = look_everywhere(made, seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + analyse::to_text(facts));
    ASSERT_FALSE(facts.subscripts_in_range && seen.index_fault);
    ASSERT_FALSE(facts.dead_subscripts_in_range && seen.index_fault);
    ASSERT_FALSE(facts.divisors_nonzero && seen.division_fault);
    ASSERT_FALSE(facts.fits_int32 && seen.beyond_int32);
    if (facts.score_low) {
      ASSERT_LE(*facts.score_low, seen.score_low);
      ASSERT_GE(*facts.score_high, seen.score_high);
    }
    proven += facts.subscripts_in_range && !facts.dead_subscripts_in_range ? 1 : 0;
    faulty += seen.index_fault ? 1 : 0;
  }
  // The test means something only where guards prove subscripts and where subscripts do fail.
  EXPECT_GT(proven, 20);
  EXPECT_GT(faulty, 5);
}

}  // namespace
}  // namespace tilewright
