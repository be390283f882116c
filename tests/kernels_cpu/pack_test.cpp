// Conversion at packing: every bit pattern of the two-byte types, subnormals, infinities and NaN.

#include <cmath>

#include "kernel_case.h"

namespace tilewright::cpu::test {
namespace {

class PackTest : public KernelTest {};
class ConversionTest : public KernelTest {};

void expect_same(double got, double expected, std::size_t pattern) {
  if (std::isnan(expected)) {
    ASSERT_TRUE(std::isnan(got)) << "pattern " << pattern;
  } else {
    ASSERT_EQ(got, expected) << "pattern " << pattern;
    ASSERT_EQ(std::signbit(got), std::signbit(expected)) << "pattern " << pattern;
  }
}

// 128 rows x 512 columns hold all 65536 patterns; V goes through the vector conversion, Q through
// the scalar one.
TEST_P(ConversionTest, EveryTwoBytePatternConvertsExactly) {
  std::vector<std::uint16_t> patterns(65536);
  for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<std::uint16_t>(i);
  const MatrixView view{patterns.data(), source(), 128, 512, 512, 1};
  AlignedBuffer query(packed_query_bytes(kernel(), 128, 512));
  AlignedBuffer value(packed_value_bytes(kernel(), 128, 512));
  kernel().pack_query(view, query.data());
  kernel().pack_value(view, value.data());
  const std::int64_t size = bytes_of(kernel().compute);
  const std::int64_t width = kernel().column_multiple;
  const std::int64_t interleave = kernel().compute == DType::kBF16 ? 2 : 1;
  for (std::int64_t row = 0; row < 128; ++row) {
    for (std::int64_t column = 0; column < 512; ++column) {
      const auto pattern = static_cast<std::size_t>(row * 512 + column);
      const double expected =
          decode(reinterpret_cast<const unsigned char*>(&patterns[pattern]), source());
      const std::int64_t in_panel =
          (row / interleave * width + column % width) * interleave + row % interleave;
      const std::int64_t place = column / width * width * 128 + in_panel;
      const auto* packed_query = query.data() + (row * 512 + column) * size;
      const auto* packed_value = value.data() + place * size;
      ASSERT_NO_FATAL_FAILURE(
          expect_same(decode(packed_query, kernel().compute), expected, pattern));
      ASSERT_NO_FATAL_FAILURE(
          expect_same(decode(packed_value, kernel().compute), expected, pattern));
    }
  }
}

// What stands behind the valid keys and columns is zero, whatever the source holds there.
TEST_P(PackTest, PaddingIsZero) {
  Random random(21);
  for (int i = 0; i < 40; ++i) {
    const std::int64_t kv = pick(random, 1, 70);
    const std::int64_t columns = pick(random, 1, 70);
    const StoredMatrix value =
        random_matrix(random, source(), {kv, columns}, Layout::kPaddedRows, Data::kExact);
    const std::int64_t bytes = packed_value_bytes(kernel(), kv, columns);
    AlignedBuffer packed(bytes);
    kernel().pack_value(value.view, packed.data());
    double packed_sum = 0;
    double source_sum = 0;
    const std::int64_t size = bytes_of(kernel().compute);
    const std::int64_t elements = padded_columns(kernel(), kv) * padded_columns(kernel(), columns);
    for (std::int64_t element = 0; element < elements; ++element) {
      packed_sum += std::abs(decode(packed.data() + element * size, kernel().compute));
    }
    for (const double element : value.values) source_sum += std::abs(element);
    ASSERT_EQ(packed_sum, source_sum) << "kv " << kv << " columns " << columns;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryRow, ConversionTest, testing::ValuesIn(two_byte_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(EveryRow, PackTest, testing::ValuesIn(kernel_cases()), case_name);

}  // namespace
}  // namespace tilewright::cpu::test
