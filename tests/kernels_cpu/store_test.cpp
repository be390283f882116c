// store_rows of every row that has it: the bits of one product a value, rounded once, and nothing
// outside the target's columns.

#include <array>
#include <cmath>
#include <limits>

#include "base/half.h"
#include "kernel_case.h"

namespace tilewright::cpu::test {
namespace {

class StoreTest : public KernelTest {};

constexpr std::int64_t kRows = 5;
constexpr std::int64_t kGap = 3;

const std::array<float, 12> kSpecial = {0.0F,
                                        -0.0F,
                                        std::numeric_limits<float>::infinity(),
                                        -std::numeric_limits<float>::infinity(),
                                        std::numeric_limits<float>::quiet_NaN(),
                                        std::numeric_limits<float>::denorm_min(),
                                        std::numeric_limits<float>::max(),
                                        65520.0F,
                                        0x1p-25F,
                                        1.00390625F,
                                        1.01171875F,
                                        -0x1.8p-15F};

std::uint32_t expected_bits(float value, DType type) {
  if (type == DType::kBF16) return float_to_bf16(value);
  if (type == DType::kF16) return float_to_f16(value);
  return std::bit_cast<std::uint32_t>(value);
}

std::uint32_t bits_at(const unsigned char* data, std::int64_t index, DType type) {
  std::uint32_t bits = 0;
  const auto bytes = static_cast<std::size_t>(bytes_of(type));
  std::memcpy(&bits, data + static_cast<std::size_t>(index) * bytes, bytes);
  return bits;
}

void check(const MicroKernel& kernel, DType type, std::int64_t columns, Random& random) {
  const std::int64_t stride = padded_columns(kernel, columns);
  AlignedBuffer rows(kRows * stride * 4);
  auto* const values = reinterpret_cast<float*>(rows.data());
  for (std::int64_t i = 0; i < kRows * stride; ++i)
    values[i] = i % 3 == 0 ? kSpecial[static_cast<std::size_t>(i / 3) % kSpecial.size()]
                           : static_cast<float>(random_value(random, DType::kF32, Data::kNormal));
  const std::array<float, kRows> factors = {1.0F, 0.3F, 1e-3F, 7.0F, 1.0F};
  const std::int64_t target_stride = columns + kGap;
  AlignedBuffer target(kRows * target_stride * bytes_of(type));
  kernel.store_rows({.output = values,
                     .output_stride = stride,
                     .row_factor = factors.data(),
                     .target = target.data(),
                     .type = type,
                     .target_stride = target_stride,
                     .rows = kRows,
                     .columns = columns});
  const std::uint32_t untouched = bytes_of(type) == 4 ? 0xffffffffU : 0xffffU;
  for (std::int64_t r = 0; r < kRows; ++r) {
    for (std::int64_t c = 0; c < target_stride; ++c) {
      const float value = values[r * stride + c % stride] * factors[static_cast<std::size_t>(r)];
      const std::uint32_t want = c < columns ? expected_bits(value, type) : untouched;
      ASSERT_EQ(bits_at(target.data(), r * target_stride + c, type), want)
          << std::string(name(type)) << " row " << r << " column " << c << " of " << columns << ": "
          << value;
    }
  }
}

TEST_P(StoreTest, RoundsOnceAndStaysInside) {
  if (kernel().store_rows == nullptr)
    GTEST_SKIP() << kernel().name << " leaves storing to the driver";
  Random random(3);
  for (DType type : {DType::kF32, DType::kBF16, DType::kF16})
    for (std::int64_t columns : {1, 7, 8, 15, 16, 17, 40, 64, 72, 128})
      check(kernel(), type, columns, random);
}

INSTANTIATE_TEST_SUITE_P(EveryRow, StoreTest, testing::ValuesIn(kernel_cases()), case_name);

}  // namespace
}  // namespace tilewright::cpu::test
