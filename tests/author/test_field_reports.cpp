#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "ir/interpret.h"
#include "tilewright/author.h"
#include "tilewright/error.h"
#include "tilewright/program.h"

namespace tilewright {
namespace {

double score(const Program& program, double s, std::int64_t q = 0, std::int64_t kv = 0) {
  return ir::Interpreter(program.structure(), program.bindings())
      .score(s, {.b = 0, .h = 0, .q = q, .kv = kv});
}

struct Function {
  std::string text;  ///< the same function in the text form
  std::function<Value(const Score&, const Index&)> mod;
  std::function<double(double, std::int64_t)> expected;
};

// C066: every function that a score_mod is made of means its definition, written or traced.
TEST(FieldReports, C066FunctionsOfTheScore) {
  const std::vector<Function> functions{
      {"tanh(score)", [](auto& s, auto&) { return tanh(s); },
       [](double s, auto) { return std::tanh(s); }},
      {"sigmoid(score)", [](auto& s, auto&) { return sigmoid(s); },
       [](double s, auto) { return 1 / (1 + std::exp(-s)); }},
      {"exp(-abs(score))", [](auto& s, auto&) { return exp(-abs(s)); },
       [](double s, auto) { return std::exp(-std::abs(s)); }},
      {"log1p(abs(score))", [](auto& s, auto&) { return log1p(abs(s)); },
       [](double s, auto) { return std::log1p(std::abs(s)); }},
      {"abs(score)", [](auto& s, auto&) { return abs(s); },
       [](double s, auto) { return std::abs(s); }},
      {"score * score", [](auto& s, auto&) { return s * s; }, [](double s, auto) { return s * s; }},
      {"sqrt(score * score + 1)", [](auto& s, auto&) { return sqrt(s * s + 1); },
       [](double s, auto) { return std::sqrt(s * s + 1); }},
      {"rsqrt(score * score + 1)", [](auto& s, auto&) { return rsqrt(s * s + 1); },
       [](double s, auto) { return 1 / std::sqrt(s * s + 1); }},
      {"sin(score)", [](auto& s, auto&) { return sin(s); },
       [](double s, auto) { return std::sin(s); }},
      {"cos(score)", [](auto& s, auto&) { return cos(s); },
       [](double s, auto) { return std::cos(s); }},
      {"erf(score)", [](auto& s, auto&) { return erf(s); },
       [](double s, auto) { return std::erf(s); }},
      {"exp2(-(score * score))", [](auto& s, auto&) { return exp2(-(s * s)); },
       [](double s, auto) { return std::exp2(-s * s); }},
      {"relu(score)", [](auto& s, auto&) { return relu(s); },
       [](double s, auto) { return std::max(s, 0.0); }},
      {"gelu(score)", [](auto& s, auto&) { return gelu(s); },
       [](double s, auto) { return s * 0.5 * std::erfc(-s / std::sqrt(2.0)); }},
      {"softplus(score)", [](auto& s, auto&) { return softplus(s); },
       [](double s, auto) { return std::log1p(std::exp(s)); }},
      {"1 / (1 + score * score)", [](auto& s, auto&) { return 1 / (1 + s * s); },
       [](double s, auto) { return 1 / (1 + s * s); }},
      {"min(score, 0.5)", [](auto& s, auto&) { return min(s, 0.5); },
       [](double s, auto) { return std::min(s, 0.5); }},
      {"max(score, 0.5)", [](auto& s, auto&) { return max(s, 0.5); },
       [](double s, auto) { return std::max(s, 0.5); }},
      {"where(q % 2 == 0, score, -score)",
       [](auto& s, auto& q) { return select(floor_mod(q, 2) == 0, s, -s); },
       [](double s, std::int64_t q) { return q % 2 == 0 ? s : -s; }}};
  for (const Function& function : functions) {
    const Program traced =
        trace([&](Score s, Index, Index, Index q, Index) { return function.mod(s, q); });
    const Program written = Program::parse("score = " + function.text);
    EXPECT_EQ(traced.content_digest(), written.content_digest()) << function.text;
    for (const double s : {-3.25, -1.0, -0.5, 0.0, 0.3, 0.5, 1.0, 2.75}) {
      for (const std::int64_t q : {4, 5}) {
        const double expected = function.expected(s, q);
        EXPECT_NEAR(score(traced, s, q), expected, 4e-16 * std::max(1.0, std::abs(expected)))
            << function.text << " at " << s;
      }
    }
  }
}

// C067: both spellings of a clamp have the same value; their derivatives differ at a tie, which
// tests/ir/test_derivatives.cpp pins.
TEST(FieldReports, C067ClampAndMinMaxAgreeInValue) {
  const Program clamped = Program::parse("clamp(score, -1, 1)");
  const Program nested = Program::parse("min(max(score, -1), 1)");
  for (const double s : {-2.0, -1.0, 0.0, 1.0, 2.0}) EXPECT_EQ(score(clamped, s), score(nested, s));
  EXPECT_NE(clamped.structure_digest(), nested.structure_digest());
}

// C069: a mod that stores what it is given is told so, and nothing outside is written.
TEST(FieldReports, C069StoringTheScoreIsRefused) {
  std::vector<Value> store;
  try {
    (void)trace([&store](Score s, Index, Index, Index, Index) {
      store.push_back(s * 2);
      return store.front() + static_cast<int>(store.size()) * 3;
    });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kTrace);
    EXPECT_NE(error.parts().what.find("not a pure function"), std::string::npos) << error.what();
  }
  // What a mod kept is dead as soon as its trace ends.
  EXPECT_THROW((void)(store.front() + 1), Error);
}

// C078: a captured number is the one of the call, whether the mod is made anew or rebound.
TEST(FieldReports, C078EveryCallSeesTheCurrentNumber) {
  Program rebound = trace([](Score s, Index, Index, Index, Index) {
    const Number c("c", 1.0);
    return clamp(s, -Value(c), c);
  });
  const std::string structure = rebound.structure_digest();
  for (const double value : {1.0, 0.5, 2.0, 0.5, 0.0, -1.0, 1.0}) {
    rebound.set("c", value);
    const Program fresh = trace([value](Score s, Index, Index, Index, Index) {
      return clamp(s, -Value(Number("c", value)), Number("c", value));
    });
    EXPECT_EQ(score(rebound, 7), value);
    EXPECT_EQ(score(fresh, 7), value);
    EXPECT_EQ(rebound.structure_digest(), structure);
    EXPECT_EQ(fresh.structure_digest(), structure);
  }
}

}  // namespace
}  // namespace tilewright
