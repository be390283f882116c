// Ranges of a captured tensor's elements over boxes, against the elements themselves.

#include "analyse/table_bounds.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "analyse/element_scan.h"
#include "analyse/table_range.h"
#include "base/element.h"
#include "support/tensor.h"

namespace tilewright::analyse {
namespace {

using cases::Layout;
using cases::Random;
using cases::Tensor;

constexpr std::size_t kNoLimit = ~std::size_t{0};

IntRange random_range(Random& random, std::int64_t extent) {
  const std::int64_t a = random.between(0, extent - 1);
  const std::int64_t b = random.between(0, extent - 1);
  return {std::min(a, b), std::max(a, b)};
}

/// The smallest range around the elements of a box, one by one.
Interval brute(const TensorView& view, const std::vector<IntRange>& box) {
  const ir::Type type = element_type(view.dtype);
  Dims sizes;
  for (const IntRange& range : box) sizes.push_back(range.high - range.low + 1);
  Interval all{};
  bool some = false;
  cases::for_each_index(sizes, [&](const Dims& at) {
    Dims index;
    for (std::size_t i = 0; i < box.size(); ++i) index.push_back(box[i].low + at[i]);
    const std::int64_t offset = cases::offset_of(view, index);
    const Interval one = type == ir::Type::kFloat ? Interval(single(read_real(view, offset)))
                         : type == ir::Type::kInt
                             ? Interval(single(read_integer(view, offset)))
                             : Interval(single(read_integer(view, offset) != 0));
    all = some ? hull(type, all, one) : one;
    some = true;
  });
  return all;
}

bool same(ir::Type type, const Interval& a, const Interval& b) {
  if (type == ir::Type::kFloat) return a.real == b.real;
  return type == ir::Type::kInt ? a.integer == b.integer : a.truth == b.truth;
}

struct Filling {
  const char* name;
  double (*value)(Random&, const Dims&);
};

constexpr std::array kFillings = {
    Filling{"scattered",
            [](Random& random, const Dims&) { return double(random.between(0, 100)); }},
    Filling{"mostly false",
            [](Random& random, const Dims&) { return random.chance(0.005) ? 1.0 : 0.0; }},
    Filling{"ascending",
            [](Random&, const Dims& at) { return double(at.empty() ? 3 : at[at.size() - 1] / 9); }},
};

void expect_exact(const TensorView& view, std::size_t axis, std::size_t budget, Random& random) {
  const TableBounds bounds(view, axis, budget);
  for (int i = 0; i < 12; ++i) {
    std::vector<IntRange> box;
    for (std::size_t a = 0; a < view.rank(); ++a)
      box.push_back(random_range(random, view.shape[a]));
    EXPECT_TRUE(same(element_type(view.dtype), bounds.over(box), brute(view, box)));
  }
}

TEST(TableBounds, AreExactForEveryDtypeRankAndLayout) {
  Random random(1);
  for (const DType dtype :
       {DType::kBool, DType::kU8, DType::kI16, DType::kI64, DType::kF32, DType::kBF16, DType::kF64})
    for (const Dims& shape : {Dims{}, Dims{1}, Dims{700}, Dims{9, 300}, Dims{3, 13, 70}})
      for (const Filling& filling : kFillings)
        for (const Layout layout : {Layout::kContiguous, Layout::kTransposed, Layout::kNegative}) {
          if (shape.size() < 2 && layout == Layout::kTransposed) continue;
          Tensor tensor(cases::TensorSpec{.dtype = dtype, .shape = shape, .layout = layout});
          tensor.fill([&](const Dims& at) { return filling.value(random, at); });
          SCOPED_TRACE(std::string(name(dtype)) + " " + to_string(shape) + " " + filling.name);
          for (std::size_t axis = 0; axis < std::max<std::size_t>(shape.size(), 1); ++axis) {
            expect_exact(tensor.view(), axis, kNoLimit, random);
            expect_exact(tensor.view(), axis, 0, random);
          }
        }
}

TEST(TableBounds, AnyByteButZeroIsTrue) {
  std::vector<std::uint8_t> bytes(1000, 0x80);
  const TensorView view = contiguous(bytes.data(), DType::kBool, {1000});
  const std::array<IntRange, 1> box{IntRange{3, 990}};
  EXPECT_TRUE(TableBounds(view, 0, kNoLimit).over(box).truth.is_true());
  bytes[517] = 0;
  bytes[518] = 1;
  EXPECT_EQ(TableBounds(view, 0, kNoLimit).over(box).truth, kAnyTruth);
}

TEST(TableBounds, ReadLinesThatAreLookedAtAndNoOthers) {
  Tensor tensor(DType::kI32, {4096, 4096});
  Random random(2);
  tensor.fill_between(random, -9, 9);
  const TableBounds bounds(tensor.view(), 1, kNoLimit);
  const std::size_t before = bounds.bytes();
  const std::array<IntRange, 2> box{IntRange{77, 78}, IntRange{0, 4000}};
  bounds.over(box);
  const std::size_t two_lines = bounds.bytes() - before;
  EXPECT_GT(two_lines, 0U);
  EXPECT_LE(two_lines, 2 * 70 * sizeof(Interval));
  bounds.over(box);
  EXPECT_EQ(bounds.bytes() - before, two_lines);
}

TEST(TableBounds, ServeManyThreads) {
  Tensor tensor(DType::kI32, {512, 1000});
  Random random(3);
  tensor.fill_between(random, -1000, 1000);
  const TableBounds bounds(tensor.view(), 1, kNoLimit);
  std::vector<std::thread> threads;
  std::array<int, 4> wrong{};
  for (std::size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      for (std::int64_t row = 0; row < 512; ++row) {
        const std::vector<IntRange> box{IntRange{row, row}, IntRange{5, 990}};
        wrong[t] += same(ir::Type::kInt, bounds.over(box), brute(tensor.view(), box)) ? 0 : 1;
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const int count : wrong) EXPECT_EQ(count, 0);
}

TEST(TableBounds, KnowWhichTablesTheirLinesAscendIn) {
  Tensor tensor(DType::kI32, {5, 40});
  tensor.fill([](const Dims& at) { return static_cast<double>(at[1] / 3 - at[0]); });
  EXPECT_TRUE(every_line_ascends(tensor.view(), 1));
  EXPECT_FALSE(every_line_ascends(tensor.view(), 0));
}

}  // namespace
}  // namespace tilewright::analyse
