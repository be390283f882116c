#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "ir/evaluate.h"
#include "tilewright/error.h"

namespace tilewright::ir {
namespace {

using tests::mask_at;
using tests::pair;
using tests::score_at;

std::string printed(std::string_view text) {
  const auto [program, bindings] = parse(text);
  return print(program, bindings);
}

TEST(Text, OneLinersAreMasksOrScoresByTheirType) {
  EXPECT_TRUE(mask_at("q >= kv", pair(3, 3)));
  EXPECT_FALSE(mask_at("q >= kv", pair(3, 4)));
  EXPECT_TRUE(mask_at("(q >= kv) & (q - kv < 1024)", pair(1024, 1)));
  EXPECT_FALSE(mask_at("(q >= kv) & (q - kv < 1024)", pair(1024, 0)));
  EXPECT_EQ(score_at("score * 2", 1.5), 3.0);
  EXPECT_EQ(score_at("score + (kv - q)", 1.5, pair(7, 3)), -2.5);
  EXPECT_EQ(score_at("score + 8 * h + b", 1, {.b = 2, .h = 3, .q = 0, .kv = 0}), 27);
}

TEST(Text, PrintsWhatAReaderWouldWrite) {
  EXPECT_EQ(printed("(q >= kv) & (q - kv < 1024)"),
            "tilewright 1\nmask = (kv <= q) & (q - kv < 1024)\n");
  EXPECT_EQ(printed("score * 2 + (kv - q) * 0.5"),
            "tilewright 1\nscore = score * 2 + (kv - q) * 0.5\n");
  EXPECT_EQ(printed("capture doc: i32[1]\nnumber w: int = 8\n"
                    "same = doc[q] == doc[kv]\nmask = same & (q - kv < w) | ~same"),
            "tilewright 1\ncapture doc: i32[1]\nnumber w: int = 8\nt0 = doc[q] == doc[kv]\n"
            "mask = t0 & (q - kv < w) | ~t0\n");
  EXPECT_EQ(printed("20 * tanh(score / 20)"), "tilewright 1\nscore = 20 * tanh(score / 20)\n");
  EXPECT_EQ(printed(""), "tilewright 1\n");
}

TEST(Text, PythonPrecedence) {
  const std::vector<std::pair<const char*, double>> cases{{"2 + 3 * 4", 14},
                                                          {"-2 ** 2", -4},
                                                          {"2 ** 3 ** 2", 512},
                                                          {"2 ** -1", 0.5},
                                                          {"1 << 2 + 1", 8},
                                                          {"6 & 3 | 8 ^ 12", (6 & 3) | (8 ^ 12)},
                                                          {"7 - 2 - 1", 4},
                                                          {"-7 // 2", -4},
                                                          {"-7 % 3", 2},
                                                          {"7 % -3", -2},
                                                          {"7 / 2", 3.5},
                                                          {"trunc_div(-7, 2)", -3},
                                                          {"trunc_mod(-7, 3)", -1},
                                                          {"~5 + 1", -5},
                                                          {"-(3)", -3},
                                                          {"--3", 3},
                                                          {"2 * -3", -6},
                                                          {"100 >> 2 >> 1", 12},
                                                          {"7.5 // 2", 3},
                                                          {"-7.5 % 2", 0.5},
                                                          {"64 / 4 / 2", 8},
                                                          {"0x10 + 1", 17},
                                                          {"1e3 + .5 + 2.", 1002.5},
                                                          {"min(4, 2, 3)", 2},
                                                          {"max(4, 9, 3)", 9},
                                                          {"clamp(9, 2, 5)", 5},
                                                          {"where(1 < 2, 3, 4)", 3},
                                                          {"3 if 1 > 2 else 4 if 2 > 3 else 5", 5},
                                                          {"int(-2.7)", -2},
                                                          {"float(3) / 2", 1.5},
                                                          {"abs(-3)", 3},
                                                          {"5 if bool(2) else 6", 5}};
  for (const auto& [text, expected] : cases)
    EXPECT_EQ(score_at("score = " + std::string(text)), expected) << text;
}

TEST(Text, WordsAndComparisonsAsInPython) {
  EXPECT_TRUE(mask_at("not q == kv and q > kv or q == 7", pair(7, 7)));
  EXPECT_FALSE(mask_at("not (q == 7 or kv == 7)", pair(7, 1)));
  EXPECT_TRUE(mask_at("0 <= q - kv < 4", pair(7, 4)));
  EXPECT_FALSE(mask_at("0 <= q - kv < 4", pair(7, 3)));
  EXPECT_FALSE(mask_at("0 <= q - kv < 4", pair(3, 4)));
  EXPECT_TRUE(mask_at("q == kv != 3", pair(4, 4)));
  // Bitwise operators bind tighter than comparisons.
  EXPECT_TRUE(mask_at("q & 1 == kv & 1", pair(5, 7)));
  EXPECT_TRUE(mask_at("mask = True if q == 3 else False", pair(3, 9)));
  EXPECT_FALSE(mask_at("mask = true if q == 3 else false", pair(4, 9)));
}

/// Reads a table of three entries under conditions that protect the subscript.
struct Guarded : testing::Test {
  std::array<std::int32_t, 3> table{5, 6, 7};
  Declarations declared{.captures = {{{.name = "t", .dtype = DType::kI32, .rank = 1},
                                      contiguous(table.data(), DType::kI32, {3})}},
                        .numbers = {}};
};

TEST_F(Guarded, ShortCircuitsProtectSubscripts) {
  for (const char* text :
       {"kv < 3 and t[kv] == 6", "not (kv >= 3 or t[kv] != 6)", "(t[kv] == 6) if kv < 3 else False",
        "kv < 3 < t[kv] == 6", "t[kv, when=kv < 3] == 6",
        "inside = kv < 3\nmask = inside and t[kv] == 6"}) {
    EXPECT_TRUE(mask_at(text, pair(0, 1), declared)) << text;
    EXPECT_FALSE(mask_at(text, pair(0, 2), declared)) << text;
    EXPECT_FALSE(mask_at(text, pair(0, 3), declared)) << text;
    EXPECT_FALSE(mask_at(text, pair(0, 1000000), declared)) << text;
  }
  // & evaluates both sides: the subscript is live and outside.
  EXPECT_THROW((void)mask_at("(kv < 3) & (t[kv] == 6)", pair(0, 3), declared), Error);
}

TEST_F(Guarded, NegativeSubscriptsWrapOnce) {
  EXPECT_TRUE(mask_at("t[kv - 3] == 5", pair(0, 0), declared));
  EXPECT_TRUE(mask_at("t[-1] == 7", pair(0, 0), declared));
  EXPECT_THROW((void)mask_at("t[-4] == 7", pair(0, 0), declared), Error);
}

TEST(Text, ShortCircuitsProtectDivisions) {
  EXPECT_FALSE(mask_at("kv != 0 and q // kv > 1", pair(7, 0)));
  EXPECT_TRUE(mask_at("kv != 0 and q // kv > 1", pair(7, 3)));
  EXPECT_TRUE(mask_at("kv == 0 or q % kv == 1", pair(7, 0)));
  EXPECT_EQ(score_at("score = 9 if kv == 0 else trunc_div(q, kv)", 0, pair(7, 0)), 9);
  EXPECT_FALSE(mask_at("floor_div(q, kv, when=kv != 0) > 1", pair(7, 0)));
  EXPECT_THROW((void)mask_at("(kv != 0) & (q // kv > 1)", pair(7, 0)), Error);
}

TEST(Text, DeclaredNumbersAreValuesByName) {
  const std::string text = "number window: int = 4\n(q >= kv) & (q - kv < window)";
  EXPECT_TRUE(mask_at(text, pair(9, 6)));
  Program program = parse(text).first;
  EXPECT_EQ(program.numbers()[0].name, "window");
  Declarations wide;
  wide.numbers.emplace_back(NumberSlot{.name = "window", .type = Type::kInt},
                            NumberValue{.real = 0, .integer = 100});
  EXPECT_TRUE(mask_at(text, pair(99, 6), wide));
  EXPECT_TRUE(mask_at("q - kv < window", pair(99, 6), wide));
  EXPECT_EQ(score_at("number c: float = 2\nscore * c", 3), 6);
  EXPECT_EQ(score_at("number c: float = -inf\nscore = c"),
            -std::numeric_limits<double>::infinity());
}

TEST(Text, LaterStatementsSeeEarlierOnes) {
  EXPECT_EQ(score_at("score = score * 2; score = score + 1", 3), 7);
  EXPECT_EQ(score_at("d = q - kv\nd = d * d # squared\nscore + d", 1, pair(5, 2)), 10);
  const auto [program, bindings] =
      parse("mask = kv <= q\nmask = mask & (kv != 3)\nscore = score*2\n");
  EXPECT_TRUE(program.roots().mask.has_value());
  EXPECT_TRUE(program.roots().score.has_value());
  EXPECT_FALSE(Interpreter(program, bindings).mask(pair(9, 3)));
}

TEST(Text, BracketsSpanLines) {
  EXPECT_TRUE(mask_at("mask = (\n  (q >= kv)  # causal\n  & (q - kv < 4)\n)\n", pair(3, 1)));
}

TEST(Text, CapturesOfAnyRank) {
  std::array<float, 1> scalar{0.5F};
  std::array<float, 8> cube{0, 1, 2, 3, 4, 5, 6, 7};
  Declarations declared;
  declared.captures.emplace_back(CaptureSlot{.name = "x", .dtype = DType::kF32, .rank = 0},
                                 contiguous(scalar.data(), DType::kF32, {}));
  declared.captures.emplace_back(CaptureSlot{.name = "c", .dtype = DType::kF32, .rank = 3},
                                 contiguous(cube.data(), DType::kF32, {2, 2, 2}));
  EXPECT_EQ(score_at("score * x", 4, {}, declared), 2);
  EXPECT_EQ(score_at("score + c[1, 0, 1]", 0, {}, declared), 5);
  EXPECT_EQ(score_at("score + c[1][0][1]", 0, {}, declared), 5);
  EXPECT_EQ(score_at("score + c[q, kv][b]", 0, pair(1, 1), declared), 6);
}

TEST(Text, NumbersAreSlotsAndSmallOnesStructure) {
  const auto digest = [](std::string_view text) { return parse(text).first.structure_digest(); };
  EXPECT_EQ(digest("q - kv < 1024"), digest("q - kv < 4096"));
  EXPECT_EQ(digest("q // 64 == kv // 64"), digest("q // 5 == kv // 7"));
  EXPECT_NE(digest("q - kv < 1"), digest("q - kv < 2"));
  EXPECT_EQ(digest("score * 2.5"), digest("score * -7e9"));
  EXPECT_NE(digest("score ** 2"), digest("score ** 3"));
  const std::string read = "capture a: f32[1]\nscore = score + a[h]\n";
  EXPECT_NE(digest(read),
            digest("capture a: f32[1]\ncapture unread: f32[1]\nscore = score + a[h]\n"));
  EXPECT_NE(digest(read), digest("capture a: f16[1]\nscore = score + a[h]\n"));
  EXPECT_EQ(digest("score ** 2.5"), digest("score ** 3.5"));
}

TEST(Text, ADeclarationMayStandTwiceIfItSaysTheSame) {
  EXPECT_NO_THROW((void)parse("capture d: i32[1]\ncapture d: i32[1]\nd[q] == d[kv]"));
  EXPECT_THROW((void)parse("capture d: i32[1]\ncapture d: i64[1]\nd[q] == d[kv]"), Error);
  EXPECT_NO_THROW((void)parse("number w: int = 3\nnumber w: int = 3\nq < w"));
  EXPECT_THROW((void)parse("number w: int = 3\nnumber w: int = 4\nq < w"), Error);
}

}  // namespace
}  // namespace tilewright::ir
