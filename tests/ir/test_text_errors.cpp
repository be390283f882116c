#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/text.h"
#include "support/random.h"
#include "tilewright/error.h"

namespace tilewright::ir {
namespace {

ErrorParts error_of(std::string_view text) {
  try {
    (void)parse(text);
  } catch (const Error& error) {
    return error.parts();
  }
  ADD_FAILURE() << "no error: " << text.substr(0, 200);
  return {};
}

struct Case {
  const char* text;
  const char* where;
  const char* says;  ///< part of what, expected or hint
};

TEST(TextErrors, PointAtThePlaceAndSayWhatToDo) {
  const std::vector<Case> cases{
      {"doc[q] == doc[kv]", "line 1, column 1", "capture doc: i32[1]"},
      {"kv <= q\n  & bias[q, kv]", "line 2, column 3", "missing"},
      {"score + bias[q, kv]", "line 1, column 9", "capture bias: i32[2]"},
      {"q - kv < window", "line 1, column 10", "number window: int = 0"},
      {"q >= ", "line 1, column 6", "value is missing"},
      {"q >= kv)", "line 1, column 8", "goes on wrongly"},
      {"(q >= kv", "line 1, column 9", "')'"},
      {"q && kv", "line 1, column 4", "`and`"},
      {"!q", "line 1, column 1", "not x"},
      {"q ? 1 : 2", "line 1, column 3", "if c else"},
      {"mask = score > 0", "line 1, column 8", "reads the score"},
      {"mask = q", "line 1, column 8", "not a truth value"},
      {"score = q < kv", "line 1, column 9", "truth value"},
      {"q - kv", "line 1, column 1", "neither"},
      {"q < kv\nkv < q", "line 2, column 1", "already"},
      {"score & 1", "line 1, column 9", "bit_and"},
      {"exp(q, kv) < 1", "line 1, column 1", "exp does not accept"},
      {"frobnicate(q) < 1", "line 1, column 1", "unknown function"},
      {"exp < 1", "line 1, column 1", "needs its operands"},
      {"q = 3", "line 1, column 1", "taken"},
      {"capture q: i32[1]", "line 1, column 9", "taken"},
      {"capture d: i33[1]", "line 1, column 12", "unknown dtype"},
      {"capture d: i32[17]", "line 1, column 16", "too many axes"},
      {"number n: int = 2.5", "line 1, column 17", "float value"},
      {"number n: bool = 1", "line 1, column 11", "int or a float"},
      {"capture d: i32[1]\nd[q, kv] < 1", "line 2, column 1", "1 axes and 2 subscripts"},
      {"capture d: i32[1]\nd < 1", "line 2, column 1", "0 subscripts"},
      {"q[0] < 1", "line 1, column 1", "only captured"},
      {"q < 99999999999999999999", "line 1, column 5", "out of range"},
      {"score * 1e999", "line 1, column 9", "out of range"},
      {"q < 3x", "line 1, column 5", "malformed"},
      {"tilewright 2\nq < kv", "line 1, column 12", "unknown version"},
      {"# naïve\nq < \"x", "line 2, column 5", "string"},
      {"score.x", "line 1, column 6", "no attributes"},
      {"t = q\nif t < 3", "line 2, column 1", "x if condition else y"},
      {"fixed(q)", "line 1, column 7", "number is missing"}};
  for (const Case& item : cases) {
    const ErrorParts parts = error_of(item.text);
    EXPECT_EQ(parts.code, ErrorCode::kParse) << item.text;
    EXPECT_EQ(parts.where, item.where) << item.text << "\n" << parts.what;
    const std::string all = parts.what + "|" + parts.expected + "|" + parts.hint;
    EXPECT_NE(all.find(item.says), std::string::npos) << item.text << "\n" << all;
  }
}

TEST(TextErrors, ShowTheLineWithACaret) {
  EXPECT_EQ(error_of("a = q\nb2 = a + zz").got, "\n    b2 = a + zz\n             ^");
  EXPECT_EQ(error_of("x = q # \xc3\xa9\n(\xc3\xa9").got, "\n    (\xc3\xa9\n     ^");
  const std::string wide = std::string(5000, ' ') + "zz" + std::string(5000, ' ');
  EXPECT_LT(error_of(wide).got.size(), 400U);
}

TEST(TextErrors, BytesThatNoProgramHas) {
  using namespace std::string_view_literals;
  EXPECT_EQ(error_of("q <\0 kv"sv).where, "line 1, column 4");
  EXPECT_EQ(error_of("q < kv\0"sv).where, "line 1, column 7");
  EXPECT_EQ(error_of("\xff\xfe q"sv).code, ErrorCode::kParse);
  EXPECT_EQ(error_of("q @ kv").code, ErrorCode::kParse);
}

TEST(TextErrors, HostileSizes) {
  const auto repeated = [](std::string_view part, std::size_t times) {
    std::string text;
    for (std::size_t i = 0; i < times; ++i) text += part;
    return text;
  };
  EXPECT_EQ(error_of(std::string(10 << 20, 'q')).code, ErrorCode::kParse);
  for (const char* nest :
       {"(", "-", "not ", "~", "q ** ", "exp(", "q if q < 1 else ", "t[", "[", "min(q, "}) {
    const ErrorParts parts = error_of(repeated(nest, 100000));
    EXPECT_EQ(parts.code, ErrorCode::kParse) << nest;
  }
  EXPECT_NE(error_of(repeated("(", 100000)).what.find("too deep"), std::string::npos);
  // Long chains are not deep, but they are long.
  EXPECT_NE(error_of("q < 0" + repeated(" + q * 3", 300000)).what.find("too many operations"),
            std::string::npos);
  std::string lines;
  for (int i = 0; i < 40000; ++i)
    lines += "x" + std::to_string(i) + " = q * " + std::to_string(i + 2) + "\n";
  EXPECT_NO_THROW((void)parse(lines + "q < 3"));  // nothing reads them: they do not stay
  std::string captures;
  for (int i = 0; i < 300; ++i) captures += "capture c" + std::to_string(i) + ": f32[0]\n";
  EXPECT_NE(error_of(captures).what.find("too many captured"), std::string::npos);
  EXPECT_EQ(error_of("capture " + std::string(2000, 'x') + ": f32[0]").code, ErrorCode::kParse);
}

TEST(TextErrors, LongChainsWithinTheLimitAreRead) {
  std::string text = "score = score";
  for (int i = 0; i < 3500; ++i) text += " + q * " + std::to_string(i + 2);
  EXPECT_GT(parse(text).first.size(), 7000U);
}

TEST(TextErrors, DamagedTextNeverCrashes) {
  const std::string whole =
      "tilewright 1\ncapture doc: i32[1] as \"a\\x00b\"\nnumber w: float = -2.5e-3\n"
      "t0 = doc[q, when=kv < 5] == doc[kv]\n"
      "mask = t0 and not (q - kv < 7) | ~t0 or 0 <= q // 4 < 9\n"
      "score = score ** 2 * w if q > kv else min(fixed(3), -inf, slot(1)) + float_bits(0x7ff8)\n";
  EXPECT_NO_THROW((void)parse(whole));
  cases::Random random(7);
  constexpr std::string_view kBytes =
      "()[]:=,;\n#\"\\ &|~+-*/%<>!.0123456789abxqkvwhenifelse\0\xff";
  for (int round = 0; round < 6000; ++round) {
    std::string text = whole;
    for (std::int64_t edit = random.between(1, 4); edit > 0; --edit) {
      const auto at =
          static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(text.size()) - 1));
      const char byte = kBytes[static_cast<std::size_t>(
          random.between(0, static_cast<std::int64_t>(kBytes.size()) - 1))];
      if (random.chance(0.4))
        text[at] = byte;
      else if (random.chance(0.5))
        text.erase(at, static_cast<std::size_t>(random.between(1, 9)));
      else
        text.insert(at, 1, byte);
      if (text.empty()) text = " ";
    }
    try {
      (void)parse(text);
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::kParse) << text << "\n" << error.what();
    }
  }
}

}  // namespace
}  // namespace tilewright::ir
