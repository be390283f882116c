#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "author/brute_masks.h"
#include "author/brute_scores.h"
#include "ir/interpret.h"
#include "tilewright/catalogue.h"
#include "tilewright/error.h"

namespace tilewright {
namespace {

Problem small_problem() {
  Problem problem;
  problem.batch = 2;
  problem.query_heads = 2;
  problem.kv_heads = 2;
  problem.q_len = 90;
  problem.kv_len = 97;
  return problem;
}

/// Calls body(position) for every pair of the problem.
template <class F>
void each_pair(const Problem& problem, F&& body) {
  const std::int64_t pairs = problem.q_len * problem.kv_len;
  for (std::int64_t i = 0; i < problem.batch * problem.query_heads * pairs; ++i)
    body(ir::Position{.b = i / pairs / problem.query_heads,
                      .h = i / pairs % problem.query_heads,
                      .q = i % pairs / problem.kv_len,
                      .kv = i % problem.kv_len});
}

class Catalogue : public testing::TestWithParam<std::string> {
 protected:
  const CatalogueEntry& entry() const { return catalogue_entry(GetParam()); }
};

TEST_P(Catalogue, SaysWhatItIs) {
  EXPECT_FALSE(entry().formula.empty());
  EXPECT_FALSE(entry().meaning.empty());
  EXPECT_FALSE(entry().reference.empty());
  for (const CatalogueParameter& parameter : entry().parameters)
    EXPECT_FALSE(parameter.meaning.empty()) << parameter.name;
}

TEST_P(Catalogue, KeepsItsDigestsThroughText) {
  const Program program = entry().make(small_problem()).trace();
  const Program again = Program::parse(program.text());
  EXPECT_EQ(again.structure_digest(), program.structure_digest()) << program.text();
  EXPECT_EQ(again.content_digest(), program.content_digest()) << program.text();
}

TEST_P(Catalogue, MeansItsFormula) {
  const Problem problem = small_problem();
  const CatalogueMod mod = entry().make(problem);
  const Program program = mod.trace();
  ir::Interpreter interpreter(program.structure(), program.bindings());
  std::int64_t live = 0;
  std::int64_t dead = 0;
  const bool is_mask = entry().kind == CatalogueKind::kMask;
  EXPECT_EQ(static_cast<bool>(mod.mask), is_mask);
  EXPECT_EQ(static_cast<bool>(mod.score), !is_mask);
  each_pair(problem, [&](const ir::Position& at) {
    if (is_mask) {
      const bool expected = tests::brute_mask(entry().name, mod.tables, problem, at);
      ++(expected ? live : dead);
      ASSERT_EQ(interpreter.mask(at), expected)
          << at.b << " " << at.h << " " << at.q << " " << at.kv;
      return;
    }
    const double s = static_cast<double>((at.q * 7 + at.kv * 3) % 19 - 9) / 4;
    const double expected = tests::brute_score(entry().name, mod.tables, problem, {s, at});
    const double got = interpreter.score(s, at);
    if (expected == got) return;
    ASSERT_NEAR(got, expected, 1e-12 * std::max(1.0, std::abs(expected)))
        << at.b << " " << at.h << " " << at.q << " " << at.kv;
  });
  EXPECT_EQ(live > 0 && dead > 0, is_mask);
}

TEST_P(Catalogue, ParametersThatAreNumbersRebindByName) {
  const CatalogueMod mod = entry().make(small_problem());
  Program program = mod.trace();
  for (const std::string& name : program.number_names()) {
    const auto is_this = [&name](const auto& parameter) { return parameter.name == name; };
    const auto parameter =
        std::find_if(entry().parameters.begin(), entry().parameters.end(), is_this);
    if (parameter == entry().parameters.end()) continue;
    CatalogueValues values{{name, parameter->is_float ? 3.5 : 5.0}};
    const Program fresh = entry().make(small_problem(), values).trace();
    EXPECT_EQ(fresh.structure_digest(), program.structure_digest()) << name;
  }
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const CatalogueEntry& entry : catalogue()) all.push_back(entry.name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Entry, Catalogue, testing::ValuesIn(names()),
                         [](const auto& test) { return test.param; });

TEST(CatalogueList, NamesAreUniqueAndFound) {
  const std::vector<std::string> all = names();
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
  EXPECT_GE(all.size(), 60U);
  EXPECT_EQ(catalogue_entry("window").name, "window");
}

TEST(CatalogueList, UnknownNamesSayTheNearest) {
  try {
    (void)catalogue_entry("windw");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.parts().expected.find("window"), std::string::npos) << error.what();
  }
}

TEST(CatalogueList, ParametersAreChecked) {
  const Problem problem = small_problem();
  EXPECT_THROW((void)catalogue_entry("window").make(problem, {{"w", 3}}), Error);
  EXPECT_THROW((void)catalogue_entry("window").make(problem, {{"W", 2.5}}), Error);
  EXPECT_NO_THROW((void)catalogue_entry("softcap").make(problem, {{"c", 2.5}}));
}

TEST(CatalogueWindow, KeepsExactlyWKeys) {
  const Program program = trace(masks::window(8));
  const Program inclusive = trace(masks::window_inclusive(8));
  ir::Interpreter keeps(program.structure(), program.bindings());
  ir::Interpreter keeps_inclusive(inclusive.structure(), inclusive.bindings());
  int seen = 0;
  int seen_inclusive = 0;
  for (std::int64_t kv = 0; kv < 130; ++kv) {
    seen += keeps.mask({.b = 0, .h = 0, .q = 100, .kv = kv}) ? 1 : 0;
    seen_inclusive += keeps_inclusive.mask({.b = 0, .h = 0, .q = 100, .kv = kv}) ? 1 : 0;
  }
  EXPECT_EQ(seen, 8);
  EXPECT_EQ(seen_inclusive, 9);
}

TEST(CatalogueCombinators, Compose) {
  const Program program = trace(masks::any_of(
      {masks::all_of({masks::causal(), masks::window(4)}), masks::negate(masks::causal())}));
  const Program moved = trace(masks::offset(masks::causal(), 3, -2));
  ir::Interpreter any(program.structure(), program.bindings());
  ir::Interpreter shifted(moved.structure(), moved.bindings());
  for (std::int64_t q = 0; q < 12; ++q) {
    for (std::int64_t kv = 0; kv < 12; ++kv) {
      const ir::Position at{.b = 0, .h = 0, .q = q, .kv = kv};
      EXPECT_EQ(any.mask(at), kv > q || q - kv < 4);
      EXPECT_EQ(shifted.mask(at), kv - 2 <= q + 3);
    }
  }
  EXPECT_FALSE(trace(masks::all_of({})).has_mask_mod());
}

TEST(CatalogueCombinators, TwoNumbersOfOneLetterNeedNames) {
  EXPECT_THROW((void)trace(masks::any_of({masks::window(4), masks::window(8)})), Error);
  const Program program =
      trace(masks::any_of({masks::window(4), masks::window(Number("wide", 8))}));
  EXPECT_EQ(program.number_names(), (std::vector<std::string>{"W", "wide"}));
}

TEST(CatalogueCombinators, ScoresRunOneAfterTheOther) {
  const Program program = trace(scores::then(scores::times_two(), scores::softcap(4)));
  ir::Interpreter interpreter(program.structure(), program.bindings());
  EXPECT_DOUBLE_EQ(interpreter.score(3, {}), 4 * std::tanh(6.0 / 4));
}

TEST(DocumentTables, FollowCumulativeLengths) {
  const DocumentTables tables =
      DocumentTables::from_cu_seqlens(std::vector<std::int64_t>{0, 3, 3, 7});
  const auto* ids = static_cast<const std::int32_t*>(tables.ids.view().data);
  EXPECT_EQ(std::vector<std::int32_t>(ids, ids + 7),
            (std::vector<std::int32_t>{0, 0, 0, 2, 2, 2, 2}));
  EXPECT_EQ(tables.starts.view().shape, Dims({3}));
  EXPECT_THROW((void)DocumentTables::from_cu_seqlens(std::vector<std::int64_t>{0, 4, 2}), Error);
  EXPECT_THROW((void)DocumentTables::from_cu_seqlens(std::vector<std::int64_t>{1, 4}), Error);
  EXPECT_THROW((void)DocumentTables::from_cu_seqlens({}), Error);
}

}  // namespace
}  // namespace tilewright
