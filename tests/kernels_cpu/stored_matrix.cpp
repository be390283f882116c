#include "stored_matrix.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

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

// binary16 of a value that it represents as a normal number, zero or NaN.
std::uint16_t half_bits(double value) {
  if (std::isnan(value)) return 0x7e00;
  if (value == 0) return 0;
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  const std::uint32_t exponent = (bits >> 23 & 0xff) - 112;
  return static_cast<std::uint16_t>((bits >> 16 & 0x8000) | exponent << 10 | (bits >> 13 & 0x3ff));
}

double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const double fraction = bits & 0x3ff;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

}  // namespace

std::int64_t bytes_of(ElementType type) {
  return type == ElementType::kF64 ? 8 : type == ElementType::kF32 ? 4 : 2;
}

std::string name_of(ElementType type) {
  constexpr const char* kNames[] = {"f64", "f32", "f16", "bf16"};
  return kNames[static_cast<std::size_t>(type)];
}

void encode(double value, ElementType type, unsigned char* place) {
  const auto single = static_cast<float>(value);
  const std::uint16_t half = half_bits(value);
  const auto brain = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(single) >> 16);
  switch (type) {
    case ElementType::kF64:
      std::memcpy(place, &value, sizeof(value));
      break;
    case ElementType::kF32:
      std::memcpy(place, &single, sizeof(single));
      break;
    case ElementType::kF16:
      std::memcpy(place, &half, sizeof(half));
      break;
    case ElementType::kBF16:
      std::memcpy(place, &brain, sizeof(brain));
      break;
  }
}

double decode(const unsigned char* place, ElementType type) {
  double value = 0;
  float single = 0;
  std::uint16_t half = 0;
  switch (type) {
    case ElementType::kF64:
      std::memcpy(&value, place, sizeof(value));
      return value;
    case ElementType::kF32:
      std::memcpy(&single, place, sizeof(single));
      return single;
    case ElementType::kF16:
      std::memcpy(&half, place, sizeof(half));
      return half_value(half);
    case ElementType::kBF16:
      std::memcpy(&half, place, sizeof(half));
      return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
  }
  return value;
}

std::int64_t pick(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

double random_value(Random& random, ElementType type, Data data) {
  if (data == Data::kExact) return static_cast<double>(pick(random, -125, 125)) / 64;
  double value = std::normal_distribution<double>()(random);
  if (std::abs(value) < 0x1p-12) value = 0;  // below is the subnormal range of f16
  if (type == ElementType::kF64) return value;
  const std::uint32_t kept = type == ElementType::kBF16  ? 0xffff0000U
                             : type == ElementType::kF16 ? 0xffffe000U
                                                         : 0xffffffffU;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) & kept);
}

StoredMatrix random_matrix(Random& random, ElementType type, Shape shape, Layout layout,
                           Data data) {
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
