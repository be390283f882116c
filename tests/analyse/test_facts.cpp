#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "analyse/facts.h"
#include "ir/program.h"
#include "tilewright/program.h"

namespace tilewright {
namespace {

using analyse::BindingFacts;
using analyse::Placement;
using analyse::StructureFacts;

Problem problem_of(std::int64_t length) {
  Problem problem;
  problem.batch = 2;
  problem.query_heads = 4;
  problem.kv_heads = 4;
  problem.q_len = length;
  problem.kv_len = length;
  return problem;
}

StructureFacts structure(const Program& program) {
  return analyse::structure_facts(program.structure());
}

BindingFacts facts(const Program& program, const Problem& problem) {
  return analyse::binding_facts(program.structure(), program.bindings(), problem);
}

TEST(StructureFacts, PlacesEachNodeByWhatItDependsOn) {
  std::vector<float> slope(4, 0.5F);
  const Capture slopes("slope", contiguous(slope.data(), DType::kF32, {4}));
  const Program program = trace([&](Score s, Index, Index h, Index q, Index kv) {
    return s + Score(slopes[h]) * Score(kv - q);
  });
  const StructureFacts found = structure(program);
  const ir::Program& ir_program = program.structure();
  for (ir::NodeId id = 0; id < ir_program.size(); ++id) {
    const ir::Op op = ir_program.node(id).op;
    if (op == ir::Op::kLoad) {
      EXPECT_EQ(found.placement[id], Placement::kTile);
    }
    if (op == ir::Op::kQuery) {
      EXPECT_EQ(found.placement[id], Placement::kRow);
    }
    if (op == ir::Op::kKey) {
      EXPECT_EQ(found.placement[id], Placement::kColumn);
    }
    if (op == ir::Op::add || op == ir::Op::isub) {
      EXPECT_EQ(found.placement[id], Placement::kScore);
    }
    if (op == ir::Op::isub) {
      ASSERT_TRUE(found.affine[id].has_value());
      EXPECT_EQ(found.affine[id]->q_factor, -1);
      EXPECT_EQ(found.affine[id]->kv_factor, 1);
    }
  }
}

TEST(StructureFacts, SeesWhetherTheMaskDependsOnBatchOrHead) {
  const Program causal = trace([](Index, Index, Index q, Index kv) { return q >= kv; });
  EXPECT_FALSE(structure(causal).mask_depends_on_b);
  EXPECT_FALSE(structure(causal).mask_depends_on_h);
  const Program per_head = trace([](Index, Index h, Index q, Index kv) { return q + h >= kv; });
  EXPECT_FALSE(structure(per_head).mask_depends_on_b);
  EXPECT_TRUE(structure(per_head).mask_depends_on_h);
}

TEST(StructureFacts, FindsRowIntervals) {
  const auto has = [](const Program& program) { return structure(program).mask_has_row_intervals; };
  std::vector<std::int32_t> doc(16, 0);
  const Capture docs("doc", contiguous(doc.data(), DType::kI32, {16}));
  EXPECT_TRUE(has(trace([](Index, Index, Index q, Index kv) { return q >= kv; })));
  EXPECT_TRUE(has(trace([](Index, Index, Index q, Index kv) { return q >= kv && q - kv < 100; })));
  EXPECT_TRUE(has(trace([](Index, Index, Index q, Index kv) { return abs(q - kv) <= 7; })));
  EXPECT_TRUE(has(trace(
      [](Index, Index, Index q, Index kv) { return floor_div(q, 32) == floor_div(kv, 32); })));
  EXPECT_TRUE(has(trace(
      [&](Index, Index, Index q, Index kv) { return q >= kv && Index(docs[q]) == docs[kv]; })));
  EXPECT_FALSE(has(trace([](Index, Index, Index q, Index kv) { return (q + kv) % 2 == 0; })));
  EXPECT_FALSE(has(trace([&](Index, Index, Index, Index kv) { return Index(docs[kv]) > 3; })));
}

TEST(BindingFacts, ProvesThatSmallProblemsFitInt32) {
  const Program program = trace([](Index, Index, Index q, Index kv) { return q * 1000 >= kv; });
  EXPECT_TRUE(facts(program, problem_of(100000)).fits_int32);
  EXPECT_FALSE(facts(program, problem_of(3000000)).fits_int32);
}

TEST(BindingFacts, CountsWhatATilePastTheEndComputes) {
  const Program program = trace([](Index, Index, Index q, Index kv) { return q + kv >= 5; });
  EXPECT_TRUE(facts(program, problem_of((1 << 30) - analyse::kMaxTileTokens)).fits_int32);
  EXPECT_FALSE(facts(program, problem_of(1 << 30)).fits_int32);
}

TEST(BindingFacts, OffsetsOfHugeTablesLeaveInt32) {
  const std::int64_t extent = 46341;
  const Capture table("table", {.data = nullptr,
                                .dtype = DType::kBool,
                                .shape = {extent, extent},
                                .strides = {extent, 1},
                                .device = {}});
  const Program program =
      trace([&](Index, Index, Index q, Index kv) { return Bool(table[q][kv]); });
  EXPECT_FALSE(facts(program, problem_of(extent)).fits_int32);
  EXPECT_TRUE(facts(program, problem_of(extent)).dead_subscripts_in_range);
}

TEST(BindingFacts, GuardsKeepSubscriptsInRange) {
  std::vector<float> bias(10, 0.0F);
  const Capture table("bias", contiguous(bias.data(), DType::kF32, {10}));
  const Program guarded = trace(
      [&](Score s, Index, Index, Index, Index kv) { return kv < 10 ? s + Score(table[kv]) : s; });
  EXPECT_TRUE(facts(guarded, problem_of(64)).subscripts_in_range);
  EXPECT_FALSE(facts(guarded, problem_of(64)).dead_subscripts_in_range);
  const Program open =
      trace([&](Score s, Index, Index, Index, Index kv) { return s + Score(table[kv]); });
  EXPECT_FALSE(facts(open, problem_of(11)).subscripts_in_range);
  EXPECT_TRUE(facts(open, problem_of(10)).subscripts_in_range);
}

TEST(BindingFacts, AnEmptyTableIsNotInRangeThoughNothingReadsIt) {
  const auto made = [](std::int64_t extent) {
    static std::vector<float> bias(1, 0.0F);
    const Capture table("bias", contiguous(bias.data(), DType::kF32, {extent}));
    return trace(
        [&](Score s, Index, Index, Index, Index kv) { return kv < 0 ? s + Score(table[kv]) : s; });
  };
  EXPECT_FALSE(facts(made(0), problem_of(64)).subscripts_in_range);
  EXPECT_TRUE(facts(made(1), problem_of(64)).subscripts_in_range);
}

TEST(BindingFacts, TheMaskBoundsDifferencesInTheScore) {
  std::vector<float> bias(8, 0.0F);
  const Capture table("bias", contiguous(bias.data(), DType::kF32, {8}));
  const auto score = [&](Score s, Index, Index, Index q, Index kv) {
    return s + Score(table[q - kv]);
  };
  const Program windowed =
      trace(score, [](Index, Index, Index q, Index kv) { return q >= kv && q - kv < 8; });
  EXPECT_TRUE(facts(windowed, problem_of(1000)).subscripts_in_range);
  const Program wider =
      trace(score, [](Index, Index, Index q, Index kv) { return q >= kv && q - kv <= 8; });
  EXPECT_FALSE(facts(wider, problem_of(1000)).subscripts_in_range);
}

TEST(BindingFacts, ReadsIndexTablesWhereTheirContentMatters) {
  std::vector<std::int32_t> doc = {0, 0, 1, 1, 2, 2, 2, 2};
  std::vector<std::int32_t> start = {0, 2, 4};
  const Capture docs("doc", contiguous(doc.data(), DType::kI32, {8}));
  const Capture starts("start", contiguous(start.data(), DType::kI32, {3}));
  const Program program = trace([&](Index, Index, Index q, Index kv) {
    return kv >= Index(starts[Index(docs[q])]) && q >= kv;
  });
  EXPECT_TRUE(facts(program, problem_of(8)).subscripts_in_range);
  doc[5] = 3;
  EXPECT_FALSE(facts(program, problem_of(8)).subscripts_in_range);
}

TEST(BindingFacts, GuardedDivisionsAreSafe) {
  std::vector<std::int64_t> width = {0, 3, 5, 7};
  const Capture widths("width", contiguous(width.data(), DType::kI64, {4}));
  const Program guarded = trace([&](Index, Index h, Index q, Index kv) {
    const Index w = widths[h];
    return w != 0 && floor_div(q, w) == floor_div(kv, w);
  });
  EXPECT_TRUE(facts(guarded, problem_of(64)).divisors_nonzero);
  const Program open = trace([&](Index, Index h, Index q, Index kv) {
    const Index w = widths[h];
    return floor_div(q, w) == floor_div(kv, w);
  });
  EXPECT_FALSE(facts(open, problem_of(64)).divisors_nonzero);
}

TEST(BindingFacts, SoftCapBoundsTheScore) {
  const Program capped = trace([](Score s, Index, Index, Index q, Index kv) {
    return select(q >= kv, 30.0 * tanh(s / 30.0), -INFINITY);
  });
  const BindingFacts found = facts(capped, problem_of(64));
  ASSERT_TRUE(found.score_low.has_value() && found.score_high.has_value());
  EXPECT_NEAR(*found.score_low, -30, 1e-3);
  EXPECT_LE(*found.score_low, -30);
  EXPECT_NEAR(*found.score_high, 30, 1e-3);
  EXPECT_GE(*found.score_high, 30);
  const Program open = trace([](Score s, Index, Index, Index, Index) { return s * 2; });
  EXPECT_FALSE(facts(open, problem_of(64)).score_high.has_value());
}

TEST(BindingFacts, AnEmptyProblemProvesEverything) {
  const Program program =
      trace([](Index, Index, Index q, Index kv) { return floor_div(q, kv) > 0; });
  EXPECT_TRUE(facts(program, problem_of(0)).divisors_nonzero);
}

}  // namespace
}  // namespace tilewright
