#include "stored_matrix.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.h"

namespace tilewright::cpu::test {
namespace {

struct Strides {
  std::int64_t row;
  std::int64_t column;
};

Strides strides_of(Layout layout, Shape shape) {
  switch (layout) {
    case Layout::kPlain:
      return {shape.columns, 1};
    case Layout::kPaddedRows:
      return {shape.columns + 5, 1};
    case Layout::kTransposed:
      return {1, shape.rows + 3};
    case Layout::kInnerStride:
      return {3 * shape.columns + 1, 3};
    case Layout::kExpandedRows:
      return {0, 1};
    case Layout::kExpandedColumns:
      return {1, 0};
    case Layout::kReversed:
      return {-(shape.columns + 2), -1};
  }
  return {shape.columns, 1};
}

template <class Element>
void put(unsigned char* place, Element element) {
  std::memcpy(place, &element, sizeof(element));
}

template <class Element>
Element take(const unsigned char* place) {
  Element element;
  std::memcpy(&element, place, sizeof(element));
  return element;
}

}  // namespace

std::int64_t bytes_of(DType type) { return static_cast<std::int64_t>(size_bytes(type)); }

void encode(double value, DType type, unsigned char* place) {
  const auto single = static_cast<float>(value);
  if (type == DType::kF64) put(place, value);
  if (type == DType::kF32) put(place, single);
  if (type == DType::kF16) put(place, float_to_f16(single));
  if (type == DType::kBF16) put(place, float_to_bf16(single));
}

double decode(const unsigned char* place, DType type) {
  if (type == DType::kF64) return take<double>(place);
  if (type == DType::kF32) return take<float>(place);
  if (type == DType::kF16) return f16_to_float(take<std::uint16_t>(place));
  return bf16_to_float(take<std::uint16_t>(place));
}

std::int64_t pick(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

double random_value(Random& random, DType type, Data data) {
  if (data == Data::kExact) return static_cast<double>(pick(random, -125, 125)) / 64;
  double value = std::normal_distribution<double>()(random);
  if (std::abs(value) < 0x1p-12) value = 0;  // below is the subnormal range of f16
  if (type == DType::kF64) return value;
  const std::uint32_t kept = type == DType::kBF16  ? 0xffff0000U
                             : type == DType::kF16 ? 0xffffe000U
                                                   : 0xffffffffU;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) & kept);
}

StoredMatrix random_matrix(Random& random, DType type, Shape shape, Layout layout, Data data) {
  const Strides strides = strides_of(layout, shape);
  const std::int64_t row_span = strides.row * (shape.rows > 0 ? shape.rows - 1 : 0);
  const std::int64_t column_span = strides.column * (shape.columns > 0 ? shape.columns - 1 : 0);
  const std::int64_t count = std::abs(row_span) + std::abs(column_span) + 1;
  const std::int64_t first = (row_span < 0 ? -row_span : 0) + (column_span < 0 ? -column_span : 0);
  const std::int64_t size = bytes_of(type);

  StoredMatrix matrix;
  matrix.bytes.resize(static_cast<std::size_t>(count * size));
  for (std::int64_t i = 0; i < count; ++i) {
    encode(std::numeric_limits<double>::quiet_NaN(), type, matrix.bytes.data() + i * size);
  }
  const auto place = [&](std::int64_t row, std::int64_t column) {
    return matrix.bytes.data() + (first + row * strides.row + column * strides.column) * size;
  };
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    for (std::int64_t column = 0; column < shape.columns; ++column) {
      encode(random_value(random, type, data), type, place(row, column));
    }
  }
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    for (std::int64_t column = 0; column < shape.columns; ++column) {
      matrix.values.push_back(decode(place(row, column), type));
    }
  }
  matrix.view = {place(0, 0), type, shape.rows, shape.columns, strides.row, strides.column};
  return matrix;
}

}  // namespace tilewright::cpu::test
