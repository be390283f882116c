#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "kernels/cpu/micro_kernel.h"

namespace tilewright::cpu::test {

/// How a matrix lies in memory. Whatever is not an element of it holds NaN.
enum class Layout {
  kPlain,            ///< row-major, tight: the last element ends the allocation
  kPaddedRows,       ///< rows further apart than their length
  kTransposed,       ///< row stride 1
  kInnerStride,      ///< both strides above 1
  kExpandedRows,     ///< row stride 0: every row is the same
  kExpandedColumns,  ///< column stride 0
  kReversed,         ///< both strides negative
};
inline constexpr int kLayouts = 7;

/// What the elements are.
enum class Data {
  kExact,   ///< n / 64 with |n| <= 125: sums of 512 products are exact in fp32 in any order
  kNormal,  ///< normally distributed, rounded to the type
};

struct Shape {
  std::int64_t rows;
  std::int64_t columns;
};

/// Random elements in storage of their own, with their values in fp64, row-major.
struct StoredMatrix {
  std::vector<unsigned char> bytes;
  MatrixView view;
  std::vector<double> values;

  double at(std::int64_t row, std::int64_t column) const {
    return values[static_cast<std::size_t>(row * view.columns + column)];
  }
};

using Random = std::mt19937_64;

StoredMatrix random_matrix(Random& random, DType type, Shape shape, Layout layout, Data data);

/// A random integer in [low, high].
std::int64_t pick(Random& random, std::int64_t low, std::int64_t high);

/// A value that Data describes, representable in `type`.
double random_value(Random& random, DType type, Data data);

void encode(double value, DType type, unsigned char* place);
double decode(const unsigned char* place, DType type);

std::int64_t bytes_of(DType type);

}  // namespace tilewright::cpu::test
