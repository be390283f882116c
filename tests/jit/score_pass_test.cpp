#include <gtest/gtest.h>

#include "ir/graph.h"
#include "tile_expectations.h"

namespace tilewright::test {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::Op;

struct Built {
  ir::Program program;
  ir::Bindings bindings;
};

Built finish(const Graph& graph, const ir::Roots& roots) {
  auto [program, bindings] = graph.finish(roots);
  return {std::move(program), std::move(bindings)};
}

Built identity() { return finish(Graph(), {}); }

Built causal() {
  Graph g;
  const NodeId always = g.literal(true);
  const NodeId mask = g.call("le", {g.input(Op::kKey), g.input(Op::kQuery)}, always);
  return finish(g, {.score = std::nullopt, .mask = mask});
}

Built soft_cap() {
  Graph g;
  const NodeId always = g.literal(true);
  const NodeId cap = g.number({.name = "cap", .type = ir::Type::kFloat}, {.real = 2.5});
  const NodeId ratio = g.call("true_div", {g.input(Op::kScore), cap}, always);
  const NodeId score = g.call("mul", {cap, g.call("tanh", {ratio}, always)}, always);
  return finish(g, {.score = score, .mask = std::nullopt});
}

Built soft_cap_causal_alibi() {
  Graph g;
  const NodeId always = g.literal(true);
  const NodeId slope = g.number({.name = "slope", .type = ir::Type::kFloat}, {.real = -0.25});
  const NodeId distance = g.call("sub", {g.input(Op::kQuery), g.input(Op::kKey)}, always);
  const NodeId bias = g.call("mul", {slope, distance}, always);
  const NodeId ratio = g.call("tanh", {g.input(Op::kScore)}, always);
  const NodeId mask = g.call("le", {g.input(Op::kKey), g.input(Op::kQuery)}, always);
  return finish(g, {.score = g.call("add", {ratio, bias}, always), .mask = mask});
}

const std::vector<cpu::PassVariant> kVariants = {
    {.is_f64 = false, .prob = cpu::ProbType::kF32, .fits_int32 = true, .checked = false},
    {.is_f64 = false, .prob = cpu::ProbType::kBF16, .fits_int32 = true, .checked = true},
    {.is_f64 = false, .prob = cpu::ProbType::kF32, .fits_int32 = false, .checked = true},
    {.is_f64 = true, .prob = cpu::ProbType::kF64, .fits_int32 = false, .checked = false},
};

const std::vector<TilePlace> kPlaces = {
    {.rows = 5, .cols = 64, .col_begin = 0, .col_end = 64, .q_begin = 30},
    {.rows = 3, .cols = 48, .col_begin = 5, .col_end = 41, .q_begin = 20, .kv_begin = 7},
    {.rows = 1, .cols = 16, .col_begin = 3, .col_end = 4, .q_begin = 100},
    {.rows = 2, .cols = 32, .col_begin = 16, .col_end = 17, .q_begin = 3, .kv_begin = 2},
};

void expect_everywhere(const Built& built) {
  for (const PassMaker& maker : pass_makers())
    for (const cpu::PassVariant& variant : kVariants)
      expect_pass_matches(maker, built.program, built.bindings, variant, kPlaces);
}

TEST(ScorePass, IdentityScalesAndExponentiates) { expect_everywhere(identity()); }
TEST(ScorePass, CausalMaskSelects) { expect_everywhere(causal()); }
TEST(ScorePass, SoftCap) { expect_everywhere(soft_cap()); }
TEST(ScorePass, CapWithAlibiUnderACausalMask) { expect_everywhere(soft_cap_causal_alibi()); }

}  // namespace
}  // namespace tilewright::test
