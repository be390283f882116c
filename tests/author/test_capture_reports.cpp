#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "author/mod_values.h"
#include "tilewright/author.h"
#include "tilewright/error.h"
#include "tilewright/masks.h"
#include "tilewright/program.h"
#include "tilewright/table.h"

namespace tilewright {
namespace {

// C044: a guarded read never leaves the tensor, and an integer buffer promotes.
TEST(FieldReports, C044DeadReadsStayInside) {
  Table table(DType::kI64, {127});
  for (std::int64_t i = 0; i < 127; ++i) table.set(i, i * 3);
  const Capture buf = table.capture("buf");
  const Program program =
      trace([&](Score s, Index, Index, Index, Index kv) { return s + buf[kv]; },
            [](Index, Index, Index q, Index kv) { return (kv < 127) & (kv <= q); });
  EXPECT_EQ(score(program, 0.5, pair(127, 126)), 378.5);
  EXPECT_FALSE(mask(program, pair(127, 127)));
  // Every node of a dead pair: nothing is read, nothing is raised.
  EXPECT_NO_THROW(
      (void)ir::Interpreter(program.structure(), program.bindings()).values(0, pair(127, 127)));
}

// C046: a table shorter than the positions is named with the index and the size.
TEST(FieldReports, C046ShortTableIsNamed) {
  const Table table(DType::kI32, {240});
  const Program program = trace(masks::documents(table.capture("document_ids")));
  EXPECT_TRUE(mask(program, pair(239, 239)));
  const ErrorParts parts = error_of([&] { (void)mask(program, pair(0, 240)); });
  EXPECT_EQ(parts.where, "document_ids, axis 0");
  EXPECT_EQ(parts.got, "240");
  EXPECT_TRUE(mask(program, pair(1, 2))) << "usable after the error";
}

// C049: [B, 1, S] subscripted with h is no silent wrap.
TEST(FieldReports, C049HeadAxisOfOne) {
  const Table table(DType::kI32, {2, 1, 16});
  const Capture doc = table.capture("doc");
  const Program program =
      trace([&](Index b, Index h, Index q, Index kv) { return doc[b][h][q] == doc[b][h][kv]; });
  EXPECT_TRUE(mask(program, {.b = 1, .h = 0, .q = 3, .kv = 4}));
  const ErrorParts parts =
      error_of([&] { (void)mask(program, {.b = 1, .h = 1, .q = 3, .kv = 4}); });
  EXPECT_EQ(parts.where, "doc, axis 1");
  EXPECT_EQ(parts.expected, "an index in [-1, 1)");
}

// C050: an offset of shape () is a value; one of shape (1,) needs its subscript, and says so.
TEST(FieldReports, C050OffsetOfOneElement) {
  Table scalar(DType::kI32, {});
  scalar.set(0, std::int64_t{5});
  const Program program = trace(masks::causal_offset(scalar.capture("off")));
  EXPECT_TRUE(mask(program, pair(1, 6)));
  EXPECT_FALSE(mask(program, pair(1, 7)));
  Table row(DType::kI32, {1});
  row.set(0, std::int64_t{5});
  const Capture off = row.capture("off");
  const ErrorParts parts = error_of([&] { (void)trace(masks::causal_offset(off)); });
  EXPECT_NE(parts.what.find("'off' has the wrong number of subscripts"), std::string::npos);
  EXPECT_NE(parts.hint.find("subscript every axis"), std::string::npos);
  const Program subscripted =
      trace([&](Index, Index, Index q, Index kv) { return q + off[0] >= kv; });
  EXPECT_TRUE(mask(subscripted, pair(1, 6)));
}

// C063: floor division and remainder of negative operands.
TEST(FieldReports, C063FloorDivisionOfNegatives) {
  const Program program = trace([](Index, Index, Index i, Index j) {
    const int t = 64;
    const int w = 4;
    const int o = 4;
    return floor_div(i - o - t, w) == floor_div(j - o - t, w) &&
           floor_mod(i - t, w) != floor_mod(j - t - 1, w);
  });
  ir::Interpreter interpreter(program.structure(), program.bindings());
  int live = 0;
  for (std::int64_t i = 0; i < 192; ++i)
    for (std::int64_t j = 0; j < 192; ++j) live += interpreter.mask(pair(i, j)) ? 1 : 0;
  EXPECT_EQ(live, 576);
  const Program text =
      Program::parse("(q - 68) // 4 == (kv - 68) // 4 and (q - 64) % 4 != (kv - 65) % 4");
  ir::Interpreter written(text.structure(), text.bindings());
  for (std::int64_t i = 0; i < 192; ++i)
    for (std::int64_t j = 0; j < 192; ++j)
      ASSERT_EQ(written.mask(pair(i, j)), interpreter.mask(pair(i, j)));
}

// C065: half captures are computed at full precision.
TEST(FieldReports, C065FunctionsOfHalfCaptures) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    Table table(dtype, {1});
    table.set(0, 1.0);
    const Capture m = table.capture("m");
    const std::vector<std::pair<std::function<Value(const Value&)>, double>> functions{
        {[](const Value& x) { return log(x); }, 0},
        {[](const Value& x) { return sin(x); }, std::sin(1.0)},
        {[](const Value& x) { return cos(x); }, std::cos(1.0)},
        {[](const Value& x) { return exp(x); }, std::exp(1.0)},
        {[](const Value& x) { return sqrt(x); }, 1},
        {[](const Value& x) { return tanh(x); }, std::tanh(1.0)}};
    for (const auto& [function, expected] : functions) {
      const Program program =
          trace([&, f = function](Score s, Index, Index, Index, Index) { return s + f(m[0]); });
      EXPECT_NEAR(score(program, 2, {}), 2 + expected, 1e-15);
    }
  }
}

// C076: a bool table in a sum is 0.0 or 1.0, never a mask.
TEST(FieldReports, C076BoolPromotes) {
  Table table(DType::kBool, {2, 2});
  table.set(1, std::int64_t{1});
  const Capture m = table.capture("m");
  const Program program =
      trace([&](Score s, Index, Index, Index q, Index kv) { return s + m[q][kv]; });
  EXPECT_EQ(score(program, 0.25, pair(0, 1)), 1.25);
  EXPECT_EQ(score(program, 0.25, pair(0, 0)), 0.25);
  EXPECT_FALSE(program.has_mask_mod());
}

}  // namespace
}  // namespace tilewright
