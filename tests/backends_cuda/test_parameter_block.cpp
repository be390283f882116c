#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "backends/cuda/parameter_block.h"
#include "ir/program.h"
#include "tilewright/program.h"

// What an emitted Bindings struct finds at which offset.
namespace tilewright::cuda {
namespace {

template <class T>
T at(const std::vector<std::byte>& block, std::size_t offset) {
  T value;
  std::memcpy(&value, block.data() + offset, sizeof value);
  return value;
}

TEST(ParameterBlock, CapturesNumbersAndExtentsLieWhereTheLayoutSays) {
  std::array<float, 12> slopes{};
  const Capture table("slope", {.data = slopes.data(),
                                .dtype = DType::kF32,
                                .shape = {1, 4},
                                .strides = {99, 3},
                                .device = {}});
  const Program program = Program::parse("score + slope[0, h] * cap + (q - kv) * step", {table},
                                         {Number{"cap", 2.5}, Number{"step", std::int64_t{-7}}});
  const BlockLayout layout(program.structure(), {});
  std::vector<std::byte> block(layout.bytes());
  Problem problem;
  problem.batch = 2;
  problem.query_heads = 4;
  problem.q_len = 100;
  problem.kv_len = 200;
  problem.q_base = 11;
  problem.kv_base = 13;
  pack(layout, {.program = program.structure(), .bindings = program.bindings(), .problem = problem},
       block);

  EXPECT_EQ(at<void*>(block, BlockLayout::kErrorAt), nullptr);
  EXPECT_EQ(at<std::int64_t>(block, 8), 11);
  EXPECT_EQ(at<std::int64_t>(block, 16), 13);
  EXPECT_EQ(at<std::int64_t>(block, 24), 2);
  EXPECT_EQ(at<std::int64_t>(block, 48), 200);
  const std::size_t capture = layout.capture_offset(0);
  EXPECT_EQ(capture, BlockLayout::kCapturesAt);
  EXPECT_EQ(at<void*>(block, capture), slopes.data());
  EXPECT_EQ(at<std::int64_t>(block, capture + 8), 1);
  EXPECT_EQ(at<std::int64_t>(block, capture + 16), 4);
  EXPECT_EQ(at<std::int64_t>(block, capture + 24), 0) << "an axis of extent 1 is never stepped";
  EXPECT_EQ(at<std::int64_t>(block, capture + 32), 3);
  const auto numbers = program.structure().numbers();
  ASSERT_EQ(numbers.size(), 2U);
  for (std::size_t slot = 0; slot < 2; ++slot) {
    const std::size_t offset = layout.number_offset(slot);
    if (numbers[slot].name == "cap") {
      EXPECT_EQ(at<double>(block, offset), 2.5);
      EXPECT_EQ(at<float>(block, offset + 8), 2.5F);
    } else {
      EXPECT_EQ(at<std::int64_t>(block, offset), -7);
      EXPECT_EQ(at<std::int32_t>(block, offset + 8), -7);
    }
  }
  EXPECT_EQ(layout.bytes(), layout.number_offset(1) + 16);
}

TEST(ParameterBlock, OneStructureHasOneLayoutWhateverTheNumbers) {
  const Program a = Program::parse("q - kv < w", {}, {Number{"w", std::int64_t{5}}});
  const Program b = Program::parse("q - kv < w", {}, {Number{"w", std::int64_t{500}}});
  EXPECT_EQ(a.structure_digest(), b.structure_digest());
  EXPECT_EQ(BlockLayout(a.structure(), {}).bytes(), BlockLayout(b.structure(), {}).bytes());
}

TEST(ParameterBlock, PyramidsCoverEveryLineDownToOneCell) {
  TensorView table{.data = nullptr,
                   .dtype = DType::kI32,
                   .shape = {3, 1000},
                   .strides = {1000, 1},
                   .device = {DeviceKind::kCuda, 0}};
  const PyramidShape shape = pyramid_shape(table, 1);
  EXPECT_EQ(shape.lines, 3);
  EXPECT_EQ(shape.extent, 1000);
  // 32, 16, 8, 4, 2, 1 cells a line.
  EXPECT_EQ(shape.levels, 6);
  EXPECT_EQ(shape.cells, 3 * 63);
  table.shape = {3, 0};
  EXPECT_EQ(pyramid_shape(table, 1).cells, 0);
}

}  // namespace
}  // namespace tilewright::cuda
