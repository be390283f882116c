#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "author/mod_values.h"
#include "ir/interpret.h"
#include "tilewright/author.h"
#include "tilewright/error.h"
#include "tilewright/program.h"

namespace tilewright {
namespace {

double score(const Program& program, double s, std::int64_t q, std::int64_t kv) {
  return ir::Interpreter(program.structure(), program.bindings()).score(s, pair(q, kv));
}

bool mask(const Program& program, std::int64_t q, std::int64_t kv) {
  return ir::Interpreter(program.structure(), program.bindings()).mask(pair(q, kv));
}

TEST(Paths, IfAndElse) {
  const Program program = trace([](Score s, Index, Index, Index q, Index kv) -> Value {
    if (q > kv) return s * 2;
    return s - 1;
  });
  EXPECT_EQ(score(program, 3, 5, 2), 6);
  EXPECT_EQ(score(program, 3, 2, 5), 2);
}

TEST(Paths, ConditionalOperatorAndNesting) {
  const Program program = trace([](Score s, Index, Index h, Index q, Index kv) -> Value {
    const Value near = q - kv < 4 ? s + 1 : s + 2;
    if (near > 5) {
      if (kv % 2 == 0) return near * 10;
      return near * 100;
    }
    return near + h;
  });
  for (std::int64_t q = 0; q < 9; ++q) {
    for (std::int64_t kv = 0; kv < 9; ++kv) {
      for (const double s : {1.0, 3.5, 4.5, 9.0}) {
        const double near = q - kv < 4 ? s + 1 : s + 2;
        const double expected = near > 5 ? near * (kv % 2 == 0 ? 10 : 100) : near;
        EXPECT_EQ(score(program, s, q, kv), expected);
      }
    }
  }
}

TEST(Paths, LogicalOperatorsShortCircuit) {
  std::array<std::int32_t, 4> table{1, 0, 1, 0};
  const Capture keep("keep", contiguous(table.data(), DType::kI32, {4}));
  const Program program = trace(
      [keep](Index, Index, Index q, Index kv) { return kv < 4 && keep[kv] == 1 && !(q < kv); });
  // Past the table the subscript is not reached, so nothing is raised.
  for (std::int64_t kv = 0; kv < 50; ++kv)
    EXPECT_EQ(mask(program, 3, kv), kv < 4 && table[static_cast<std::size_t>(kv)] == 1 && kv <= 3);
  const Program either =
      trace([keep](Index, Index, Index, Index kv) { return kv >= 4 || keep[kv] == 1; });
  EXPECT_TRUE(mask(either, 0, 77));
  EXPECT_FALSE(mask(either, 0, 1));
}

TEST(Paths, DivisionBehindAConditionIsNotReached) {
  const Program program = trace([](Score s, Index, Index, Index q, Index kv) -> Value {
    if (kv == 0) return s;
    return s + q / kv;
  });
  EXPECT_EQ(score(program, 1, 7, 0), 1);
  EXPECT_EQ(score(program, 1, -7, 2), -2) << "C++ division truncates";
}

TEST(Paths, TheSameQuestionIsAskedOnce) {
  const Program program = trace([](Score s, Index, Index, Index q, Index kv) -> Value {
    Value total = s;
    for (int i = 0; i < 100; ++i) total = q > kv ? total + 1 : total - 1;
    return !(q > kv) ? total * 2 : total;
  });
  EXPECT_EQ(score(program, 0, 2, 1), 100);
  EXPECT_EQ(score(program, 0, 1, 2), -200);
}

TEST(Paths, ALoopOverHostValuesUnrolls) {
  const Program program = trace([](Score s, Index, Index, Index, Index kv) -> Value {
    Value total = s;
    for (int i = 1; i <= 5; ++i) total = total + kv * i;
    return total;
  });
  EXPECT_EQ(score(program, 1, 0, 2), 31);
}

TEST(Paths, SixtyFourPathsAndNoMore) {
  const auto branches = [](int count) {
    return trace([count](Score s, Index, Index, Index q, Index) -> Value {
      Value total = s;
      for (int bit = 0; bit < count; ++bit)
        if ((q >> bit & 1) == 1) total = total + (1 << bit);
      return total;
    });
  };
  const Program program = branches(6);
  for (std::int64_t q = 0; q < 64; ++q) EXPECT_EQ(score(program, 0, q, 0), static_cast<double>(q));
  const ErrorParts parts = error_of([&] { (void)branches(7); });
  EXPECT_EQ(parts.code, ErrorCode::kTrace);
  EXPECT_NE(parts.what.find("64 paths"), std::string::npos) << parts.what;
  EXPECT_EQ(parts.where, "score_mod");
}

TEST(Paths, LoopsOnSymbolsAreNamed) {
  const ErrorParts counted = error_of([] {
    (void)trace([](Score s, Index, Index, Index q, Index) -> Value {
      Value total = s;
      for (Index i = 0; i < q; i += 1) total = total + 1;
      return total;
    });
  });
  EXPECT_EQ(counted.code, ErrorCode::kTrace);
  EXPECT_NE(counted.what.find("loop"), std::string::npos) << counted.what;

  const ErrorParts unchanging = error_of([] {
    (void)trace([](Index, Index, Index q, Index kv) -> Value {
      while (q > kv) {
      }
      return q == kv;
    });
  });
  EXPECT_NE(unchanging.what.find("loop"), std::string::npos) << unchanging.what;

  const ErrorParts until = error_of([] {
    (void)trace([](Score s, Index, Index, Index q, Index) -> Value {
      Index i = 0;
      while (!(i >= q)) i += 1;
      return s + i;
    });
  });
  EXPECT_EQ(until.code, ErrorCode::kTrace);
  EXPECT_NE((until.what + until.hint).find("loop"), std::string::npos) << until.hint;
}

TEST(Paths, LiteralsOfForkedPathsShareTheirSlots) {
  const Program program = trace([](Score s, Index, Index, Index q, Index kv) -> Value {
    const Value scaled = s * 2.5;
    if (q > kv) return scaled + 7;
    return scaled - 7;
  });
  // 2.5 once, though both paths run it; each 7 is its own.
  EXPECT_EQ(program.structure().numbers().size(), 3U);
}

TEST(Paths, ProgramsThatDifferInNumbersShareTheirStructure) {
  const auto window = [](std::int64_t keys) {
    return trace([keys](Index, Index, Index q, Index kv) { return q >= kv && q - kv < keys; });
  };
  EXPECT_EQ(window(64).structure_digest(), window(4096).structure_digest());
  EXPECT_NE(window(64).content_digest(), window(4096).content_digest());
  EXPECT_EQ(window(64).content_digest(), window(64).content_digest());
  const auto chunks = [](std::int64_t n) {
    return trace([n](Index, Index, Index q, Index kv) { return q / n == kv / n; });
  };
  EXPECT_EQ(chunks(3).structure_digest(), chunks(128).structure_digest());
  EXPECT_NE(chunks(2).structure_digest(), window(2).structure_digest());
}

TEST(Paths, ANumberIsCapturedAsItIsWhenTraced) {
  double cap = 1;
  const auto capped = [&cap](Score s, Index, Index, Index, Index) { return clamp(s, -cap, cap); };
  std::vector<double> results;
  for (const double value : {1.0, 0.5, 2.0, 0.5}) {
    cap = value;
    results.push_back(score(trace(capped), 10, 0, 0));
  }
  EXPECT_EQ(results, (std::vector<double>{1, 0.5, 2, 0.5}));
}

TEST(Paths, TheSameAsTheTracedFunction) {
  const Program traced = trace(
      [](Score s, Index, Index h, Index q, Index kv) -> Value {
        if (q > kv) return s * 2 + h;
        return s - abs(q - kv) * 0.25;
      },
      [](Index, Index, Index q, Index kv) { return q >= kv && q - kv < 64; });
  const Program written = Program::parse(
      "mask = q >= kv and q - kv < 64\n"
      "score = score * 2 + h if q > kv else score - abs(q - kv) * 0.25\n");
  EXPECT_EQ(traced.structure_digest(), written.structure_digest());
  EXPECT_EQ(traced.content_digest(), written.content_digest());
}

TEST(Purity, StateBetweenCallsIsReported) {
  int calls = 0;
  const ErrorParts counted = error_of([&] {
    (void)trace([&calls](Score s, Index, Index, Index, Index) { return s + ++calls * 2; });
  });
  EXPECT_EQ(counted.code, ErrorCode::kTrace);
  EXPECT_NE(counted.what.find("pure"), std::string::npos) << counted.what;
  EXPECT_EQ(counted.where, "score_mod");

  bool flip = false;
  const ErrorParts branched = error_of([&] {
    (void)trace([&flip](Index, Index, Index q, Index kv) -> Value {
      flip = !flip;
      if (flip) return q < kv;
      return q > kv;
    });
  });
  EXPECT_EQ(branched.where, "mask_mod");
}

TEST(Purity, HandlesOfAnEarlierTraceAreStale) {
  std::vector<Score> kept;
  (void)trace([&kept](Score s, Index, Index, Index, Index) {
    if (kept.empty()) kept.push_back(s);
    return s;
  });
  const ErrorParts stale = error_of(
      [&] { (void)trace([&kept](Score s, Index, Index, Index, Index) { return s + kept[0]; }); });
  EXPECT_NE(stale.what.find("another trace"), std::string::npos) << stale.what;

  std::vector<Subscript> subscripts;
  std::array<float, 2> data{};
  const Capture table("t", contiguous(data.data(), DType::kF32, {2}));
  (void)trace([&](Score s, Index, Index, Index, Index) {
    if (subscripts.empty()) subscripts.push_back(table[0]);
    return s;
  });
  EXPECT_THROW((void)trace([&](Score s, Index, Index, Index, Index) { return s + subscripts[0]; }),
               Error);
}

TEST(Purity, HandlesOutsideAModAreRefused) {
  EXPECT_THROW((void)Value(3.0), Error);
  const ErrorParts parts = error_of([] { (void)Score(1.0); });
  EXPECT_NE(parts.what.find("outside the tracing"), std::string::npos) << parts.what;
}

TEST(Purity, AThrowingModLeavesNoTraceBehind) {
  EXPECT_THROW((void)trace([](Score, Index, Index, Index, Index) -> Value {
                 throw std::runtime_error("the user's own");
               }),
               std::runtime_error);
  EXPECT_THROW((void)Value(3.0), Error);
  EXPECT_EQ(score(trace([](Score s, Index, Index, Index, Index) { return s * 3; }), 2, 0, 0), 6);
}

TEST(Purity, AModMayTraceAnother) {
  const Program program = trace([](Score s, Index, Index, Index, Index) {
    const Program inner = trace([](Index, Index, Index q, Index kv) { return q >= kv; });
    return inner.has_mask_mod() ? s * 4 : s;
  });
  EXPECT_EQ(score(program, 2, 0, 0), 8);
}

}  // namespace
}  // namespace tilewright
