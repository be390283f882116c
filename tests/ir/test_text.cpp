#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "ir/graph.h"
#include "ir/interpret.h"
#include "ir/text.h"
#include "tilewright/error.h"

namespace tilewright::ir {
namespace {

using Pair = std::pair<Program, Bindings>;

/// Reads what print() wrote and checks that nothing was lost.
std::string round_trip(const Pair& original) {
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

bool mask_at(std::string_view text, Position position) {
  const Pair pair = parse(text);
  return Interpreter(pair.first, pair.second).mask(position);
}

double score_at(std::string_view text, double score, Position position = {}) {
  const Pair pair = parse(text);
  return Interpreter(pair.first, pair.second).score(score, position);
}

Position at(std::int64_t q, std::int64_t kv) { return {.b = 0, .h = 0, .q = q, .kv = kv}; }

TEST(Text, OneLinersAreMasksOrScoresByTheirType) {
  EXPECT_TRUE(mask_at("q >= kv", at(3, 3)));
  EXPECT_FALSE(mask_at("q >= kv", at(3, 4)));
  EXPECT_TRUE(mask_at("(q >= kv) & (q - kv < 1024)", at(1024, 1)));
  EXPECT_FALSE(mask_at("(q >= kv) & (q - kv < 1024)", at(1024, 0)));
  EXPECT_EQ(score_at("score * 2", 1.5), 3.0);
  EXPECT_EQ(score_at("score + (kv - q)", 1.5, at(7, 3)), -2.5);
}

TEST(Text, PrintsWhatAReaderWouldWrite) {
  EXPECT_EQ(round_trip(parse("(q >= kv) & (q - kv < 1024)")),
            "tilewright 1\nmask = (kv <= q) & (q - kv < 1024)\n");
  EXPECT_EQ(round_trip(parse("score * 2 + (kv - q) * 0.5")),
            "tilewright 1\nscore = score * 2 + (kv - q) * 0.5\n");
  EXPECT_EQ(round_trip(parse("capture doc: i32[1]\nnumber w: int = 8\n"
                             "same = doc[q] == doc[kv]\nmask = same & (q - kv < w) | ~same")),
            "tilewright 1\ncapture doc: i32[1]\nnumber w: int = 8\nt0 = doc[q] == doc[kv]\n"
            "mask = t0 & (q - kv < w) | ~t0\n");
}

TEST(Text, PythonPrecedence) {
  EXPECT_EQ(score_at("score = 2 + 3 * 4", 0), 14);
  EXPECT_EQ(score_at("score = -2 ** 2", 0), -4);
  EXPECT_EQ(score_at("score = 2 ** 3 ** 2", 0), 512);
  EXPECT_EQ(score_at("score = 2 ** -1", 0), 0.5);
  EXPECT_EQ(score_at("score = 1 << 2 + 1", 0), 8);
  EXPECT_EQ(score_at("score = 6 & 3 | 8 ^ 12", 0), (6 & 3) | (8 ^ 12));
  EXPECT_EQ(score_at("score = 7 - 2 - 1", 0), 4);
  EXPECT_EQ(score_at("score = -7 // 2", 0), -4);
  EXPECT_EQ(score_at("score = -7 % 3", 0), 2);
  EXPECT_EQ(score_at("score = 7 / 2", 0), 3.5);
  EXPECT_EQ(score_at("score = trunc_div(-7, 2)", 0), -3);
  EXPECT_EQ(score_at("score = ~5 + 1", 0), -5);
  EXPECT_TRUE(mask_at("not q == kv and q > kv or q == 7", at(7, 7)));
}

}  // namespace
}  // namespace tilewright::ir
