#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "author/mod_values.h"
#include "tilewright/author.h"
#include "tilewright/error.h"
#include "tilewright/masks.h"
#include "tilewright/program.h"
#include "tilewright/table.h"

namespace tilewright {
namespace {

class CaptureOfDType : public testing::TestWithParam<DType> {};

TEST_P(CaptureOfDType, ReadsItsElements) {
  const DType dtype = GetParam();
  Table table(dtype, {3});
  for (std::int64_t i = 0; i < 3; ++i) table.set(i, i - 1);
  const Capture capture = table.capture("t");
  const Program program =
      trace([capture](Score s, Index, Index, Index, Index kv) { return s + capture[kv]; });
  for (std::int64_t i = 0; i < 3; ++i) {
    double expected = static_cast<double>(i - 1);
    if (dtype == DType::kU8 && i == 0) expected = 255;
    if (dtype == DType::kBool) expected = i == 1 ? 0 : 1;
    EXPECT_EQ(score(program, 0.5, pair(0, i)), 0.5 + expected);
  }
}

INSTANTIATE_TEST_SUITE_P(DType, CaptureOfDType,
                         testing::Values(DType::kF64, DType::kF32, DType::kF16, DType::kBF16,
                                         DType::kI8, DType::kI16, DType::kI32, DType::kI64,
                                         DType::kU8, DType::kBool),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST(Captures, EveryRankFromZeroToFive) {
  std::vector<float> data(3 * 3 * 3 * 3 * 3);
  std::iota(data.begin(), data.end(), 0.0F);
  for (std::size_t rank = 0; rank <= 5; ++rank) {
    Dims shape;
    for (std::size_t axis = 0; axis < rank; ++axis) shape.push_back(3);
    const Capture capture("t", contiguous(data.data(), DType::kF32, shape));
    const Program program = trace([&](Score s, Index b, Index h, Index q, Index kv) -> Value {
      switch (rank) {
        case 0:
          return s + capture;
        case 1:
          return s + capture[kv];
        case 2:
          return s + capture[q][kv];
        case 3:
          return s + capture(h, q, kv);
        case 4:
          return s + capture[b][h][q][kv];
        default:
          return s + capture(2, b, h, q, kv);
      }
    });
    const std::array<std::int64_t, 5> index{2, 0, 1, 2, 1};
    double offset = 0;
    for (std::size_t axis = 5 - rank; axis < 5; ++axis)
      offset = offset * 3 + static_cast<double>(index[axis]);
    EXPECT_EQ(score(program, 0, {.b = 0, .h = 1, .q = 2, .kv = 1}), offset) << "rank " << rank;
  }
}

TEST(Captures, AnyStrides) {
  std::array<std::int32_t, 24> data{};
  std::iota(data.begin(), data.end(), 0);
  const auto view = [&](std::int64_t offset, const Dims& shape, const Dims& strides) {
    TensorView tensor = contiguous(data.data() + offset, DType::kI32, shape);
    tensor.strides = strides;
    return tensor;
  };
  const std::vector<std::pair<TensorView, std::function<std::int64_t(std::int64_t, std::int64_t)>>>
      cases{{view(0, {4, 6}, {1, 4}), [](auto i, auto j) { return i + 4 * j; }},  // transposed
            {view(23, {4, 6}, {-6, -1}), [](auto i, auto j) { return 23 - 6 * i - j; }},
            {view(2, {4, 6}, {0, 3}), [](auto, auto j) { return 2 + 3 * j; }},  // expanded
            {view(5, {4, 6}, {0, 0}), [](auto, auto) { return 5; }}};
  for (const auto& [tensor, offset] : cases) {
    const Capture table("t", tensor);
    const Program program =
        trace([&](Score s, Index, Index, Index q, Index kv) { return s + table[q][kv]; });
    for (std::int64_t i = 0; i < 4; ++i)
      for (std::int64_t j = 0; j < 6; ++j)
        EXPECT_EQ(score(program, 0, pair(i, j)), static_cast<double>(offset(i, j)));
  }
  // The stride of an axis of one entry does not count.
  const Capture one("one", view(7, {1, 2}, {1000000, 1}));
  const Program program =
      trace([&](Score s, Index, Index, Index, Index kv) { return s + one[0][kv]; });
  EXPECT_EQ(score(program, 0, pair(0, 1)), 8);
}

TEST(Captures, SubscriptsThroughOtherCaptures) {
  const Table first = Table::of(std::array<std::int32_t, 3>{2, 0, 1});
  const Table second = Table::of(std::array<std::int32_t, 3>{10, 20, 30});
  const Capture order = first.capture("order");
  const Capture values = second.capture("values");
  const Program program = trace([&](Score s, Index, Index, Index q, Index) {
    return s + values[order[q]] - values[order[order[q]]];
  });
  EXPECT_EQ(score(program, 0, pair(0, 0)), 30 - 20);
}

TEST(Captures, OperandsOfEveryOperator) {
  const Table table = Table::of(std::array<std::int32_t, 3>{5, 7, 9});
  const Capture a = table.capture("a");
  const Program program = trace([&](Score s, Index, Index, Index q, Index kv) -> Value {
    Value total = a[q] + a[kv];
    total = total * (a[q] - a[kv]) + a[q] * a[kv] - a[q] / a[kv] + a[q] % 4;
    if (a[q] < a[kv]) total = -total;
    return s + total + select(a[q] == a[kv], 100, 200) + min(a[q], a[kv]);
  });
  EXPECT_EQ(score(program, 0, pair(2, 1)), 16 * 2 + 63 - 1 + 1 + 200 + 7);
  EXPECT_EQ(score(program, 0, pair(0, 1)), -(12 * -2 + 35 - 0 + 1) + 200 + 5);
}

TEST(Captures, NegativeSubscriptsWrapOnceAndOutsideIsAnError) {
  const Table table = Table::of(std::array<std::int32_t, 3>{5, 7, 9});
  const Capture a = table.capture("lengths");
  const Program program =
      trace([&](Score s, Index, Index, Index q, Index kv) { return s + a[kv - q]; });
  EXPECT_EQ(score(program, 0, pair(1, 0)), 9);
  EXPECT_EQ(score(program, 0, pair(3, 0)), 5);
  for (const auto& [q, kv] : std::vector<std::pair<int, int>>{{4, 0}, {0, 3}, {0, 1000000}}) {
    const ErrorParts parts =
        error_of([&, q = q, kv = kv] { (void)score(program, 0, pair(q, kv)); });
    EXPECT_EQ(parts.code, ErrorCode::kIndexOutOfRange);
    EXPECT_NE(parts.what.find("'lengths'"), std::string::npos) << parts.what;
    EXPECT_EQ(parts.got, std::to_string(kv - q));
    EXPECT_EQ(parts.expected, "an index in [-3, 3)");
  }
}

TEST(Captures, TheSameTensorIsOneCapture) {
  const Table table = Table::of(std::array<std::int32_t, 3>{5, 7, 9});
  const Capture a = table.capture("a");
  const Capture also_a = table.capture("a");
  const Program program = trace([&](Score s, Index, Index, Index q, Index) { return s + a[q]; },
                                [&](Index, Index, Index, Index kv) { return also_a[kv] > 5; });
  EXPECT_EQ(program.capture_names(), std::vector<std::string>{"a"});
  const Table other = Table::of(std::array<std::int32_t, 1>{1});
  EXPECT_THROW((void)trace([&](Score s, Index, Index, Index q, Index) {
                 return s + a[q] + other.capture("a")[0];
               }),
               Error);
}

TEST(Captures, RebindByNameKeepsTheStructure) {
  const Table table = Table::of(std::array<std::int32_t, 2>{0, 1});
  const Table longer = Table::of(std::array<std::int32_t, 4>{3, 3, 4, 4});
  Program program = trace(masks::documents(table.capture("doc")));
  const std::string digest = program.structure_digest();
  EXPECT_FALSE(mask(program, pair(0, 1)));
  program.bind("doc", longer.view());
  EXPECT_TRUE(mask(program, pair(2, 3)));
  EXPECT_EQ(program.structure_digest(), digest);
  EXPECT_THROW(program.bind("dog", longer.view()), Error);
  const Table floats(DType::kF32, {4});
  const ErrorParts parts = error_of([&] { program.bind("doc", floats.view()); });
  EXPECT_EQ(parts.expected, "i32, rank 1");
}

TEST(Captures, UnboundOnesOfAParsedProgramAreNamed) {
  const Program scalar = Program::parse("capture x: f32[0]\nscore * x");
  const ErrorParts parts = error_of([&] { (void)score(scalar, 1, {}); });
  EXPECT_NE(parts.what.find("'x' is not bound"), std::string::npos) << parts.what;
  const Table table = Table::of(std::array<std::int32_t, 2>{0, 1});
  const Program bound = Program::parse("doc[q] == doc[kv]", {table.capture("doc")});
  EXPECT_TRUE(mask(bound, pair(1, 1)));
  const Program number = Program::parse("q - kv < w", {}, {Number("w", 3)});
  EXPECT_EQ(number.number_names(), std::vector<std::string>{"w"});
}

TEST(Vectors, ArithmeticAndReductions) {
  Table table(DType::kF32, {2, 3});
  for (std::int64_t i = 0; i < 6; ++i) table.set(i, static_cast<double>(i + 1));  // 1 2 3 / 4 5 6
  const Capture w = table.capture("w");
  const auto result = [&](const std::function<Value(const Vector&, const Vector&)>& body) {
    const Program program =
        trace([&](Score s, Index, Index, Index, Index) { return s + body(w[0], w[1]); });
    return score(program, 0, {});
  };
  EXPECT_EQ(result([](const Vector& a, const Vector& b) { return dot(a, b); }), 32);
  EXPECT_EQ(result([](const Vector& a, const Vector& b) { return sum(a + b); }), 21);
  EXPECT_EQ(result([](const Vector& a, const Vector& b) { return max(b - a * 2); }), 2);
  EXPECT_EQ(result([](const Vector& a, const Vector& b) { return mean(b / a); }),
            (4.0 + 2.5 + 2.0) / 3);
  EXPECT_EQ(result([](const Vector& a, const Vector&) { return sum(a + Value(1)) + a[2]; }), 12);
}

TEST(Vectors, LengthIsStructureAndChecked) {
  const auto rows = [](std::int64_t length) {
    const Table table(DType::kF32, {2, length});
    const Capture w = table.capture("w");
    return trace([&](Score s, Index, Index, Index q, Index) { return s + sum(w[q]); })
        .structure_digest();
  };
  EXPECT_EQ(rows(5), rows(5));
  EXPECT_NE(rows(5), rows(6));
  EXPECT_THROW((void)rows(513), Error);
  const Table table(DType::kF32, {2, 3});
  const Table other(DType::kF32, {4});
  const Capture w = table.capture("w");
  const Capture v = other.capture("v");
  EXPECT_THROW((void)trace([&](Score s, Index, Index, Index q, Index) {
                 return s + dot(w[q], v.entries());
               }),
               Error);
  EXPECT_THROW((void)trace([&](Score s, Index, Index, Index q, Index) { return s + sum(w[q][0]); }),
               Error);
}

}  // namespace
}  // namespace tilewright
