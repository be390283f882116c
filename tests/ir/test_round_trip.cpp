#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "ir/graph.h"
#include "ir/random_graph.h"
#include "ir/text.h"

namespace tilewright::ir {
namespace {

using Pair = std::pair<Program, Bindings>;

/// Reads what print() wrote and checks that nothing was lost.
std::string require_round_trip(const Pair& original) {
  const std::string text = print(original.first, original.second);
  const Pair again = parse(text);
  EXPECT_EQ(again.first.structure_digest(), original.first.structure_digest()) << text;
  EXPECT_EQ(content_digest(again.first, again.second),
            content_digest(original.first, original.second))
      << text;
  EXPECT_TRUE(std::ranges::equal(again.first.captures(), original.first.captures())) << text;
  EXPECT_TRUE(std::ranges::equal(again.first.numbers(), original.first.numbers())) << text;
  EXPECT_EQ(print(again.first, again.second), text);
  return text;
}

TEST(RoundTrip, RandomProgramsKeepBothDigests) {
  cases::Random random(20261130);
  for (int round = 0; round < 3000; ++round) {
    const int operations = round % 10 == 0 ? 120 : 12;
    require_round_trip(tests::random_graph(random, operations));
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
}

TEST(RoundTrip, DeepProgramsStayShallowOnPaper) {
  Graph graph;
  const NodeId always = graph.literal(true);
  NodeId chain = graph.input(Op::kScore);
  for (int i = 0; i < 8000; ++i) {
    const NodeId step =
        graph.number({.name = {}, .type = Type::kFloat}, {.real = i + 2.5, .integer = 0});
    chain = graph.call(i % 2 == 0 ? "add" : "max", {chain, step}, always);
  }
  const std::string text = require_round_trip(graph.finish({.score = chain, .mask = {}}));
  std::size_t longest = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    longest = std::max(longest, end - at);
    at = end + 1;
  }
  EXPECT_LT(longest, 300U);
}

TEST(RoundTrip, ASharedNumberStaysOneSlot) {
  Graph graph;
  const NodeId two = graph.number({.name = {}, .type = Type::kInt}, {.real = 0, .integer = 2});
  const NodeId score = graph.input(Op::kScore);
  const NodeId always = graph.literal(true);
  const NodeId root = graph.call("mul", {graph.call("add", {score, two}, always), two}, always);
  const Pair pair = graph.finish({.score = root, .mask = {}});
  EXPECT_EQ(pair.first.numbers().size(), 1U);
  EXPECT_EQ(require_round_trip(pair), "tilewright 1\nt0 = 2\nscore = (score + t0) * t0\n");
}

TEST(RoundTrip, StructuralIntegersOfVectors) {
  Graph graph;
  const std::uint32_t table = graph.capture({.name = "w", .dtype = DType::kF32, .rank = 2}, {});
  const NodeId always = graph.literal(true);
  NodeId sum = graph.input(Op::kScore);
  for (std::int64_t i = 0; i < 4; ++i) {
    const std::array<NodeId, 2> index{graph.input(Op::kHead), graph.literal(i)};
    sum = graph.call("add", {sum, graph.load(table, index, always)}, always);
  }
  EXPECT_EQ(require_round_trip(graph.finish({.score = sum, .mask = {}})),
            "tilewright 1\ncapture w: f32[2]\n"
            "score = score + w[h, 0] + w[h, 1] + w[h, fixed(2)] + w[h, fixed(3)]\n");
}

TEST(RoundTrip, OddNumbers) {
  const double quiet = std::bit_cast<double>(std::uint64_t{0x7ff8000000000001});
  const double negative = std::bit_cast<double>(std::uint64_t{0xfff8000000000000});
  for (const double value : {-0.0, 0.0, 1.0, -1.0, 2.0, 0.1, 1e-310, quiet, negative, std::nan(""),
                             std::numeric_limits<double>::infinity()}) {
    Graph graph;
    const NodeId slot =
        graph.number({.name = {}, .type = Type::kFloat}, {.real = value, .integer = 0});
    const NodeId literal = graph.literal(value);
    const NodeId always = graph.literal(true);
    const NodeId sum = graph.call("add", {slot, graph.call("neg", {literal}, always)}, always);
    require_round_trip(
        graph.finish({.score = graph.call("pow", {sum, literal}, always), .mask = {}}));
    require_round_trip(graph.finish({.score = graph.call("pow", {sum, slot}, always), .mask = {}}));
    require_round_trip(graph.finish({.score = graph.call("neg", {slot}, always), .mask = {}}));
  }
}

TEST(RoundTrip, UnreadCapturesAndNamedNumbersStay) {
  Graph graph;
  graph.capture({.name = "unread", .dtype = DType::kBF16, .rank = 3}, {});
  graph.number({.name = "later", .type = Type::kInt}, {.real = 0, .integer = 5});
  EXPECT_EQ(require_round_trip(graph.finish({})),
            "tilewright 1\ncapture unread: bf16[3]\nnumber later: int = 5\n");
}

TEST(RoundTrip, RootsThatAreConstants) {
  Graph graph;
  require_round_trip(graph.finish({.score = graph.literal(2.5), .mask = graph.literal(false)}));
  const auto [program, bindings] =
      graph.finish({.score = graph.input(Op::kScore), .mask = graph.literal(true)});
  EXPECT_FALSE(program.roots().mask || program.roots().score);
}

}  // namespace
}  // namespace tilewright::ir
