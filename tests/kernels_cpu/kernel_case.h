#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/microkernels.h"
#include "stored_matrix.h"

namespace tilewright::cpu::test {

/// One row of the table with one of the storage types that it takes.
struct KernelCase {
  const MicroKernel* kernel;
  DType source;
};

inline std::vector<KernelCase> kernel_cases() {
  std::vector<KernelCase> cases;
  for (const MicroKernel* kernel : micro_kernel_rows()) {
    for (int type = 0; type < 4; ++type) {
      if ((kernel->sources >> type & 1) == 0) continue;
      cases.push_back({kernel, static_cast<DType>(type)});
    }
  }
  return cases;
}

/// Those with storage types of two bytes.
inline std::vector<KernelCase> two_byte_cases() {
  std::vector<KernelCase> cases = kernel_cases();
  std::erase_if(cases, [](const KernelCase& c) { return bytes_of(c.source) != 2; });
  return cases;
}

inline std::string case_name(const testing::TestParamInfo<KernelCase>& info) {
  return std::string(info.param.kernel->name) + "_from_" + std::string(name(info.param.source));
}

/// Skips, with the reason, what the running CPU lacks.
class KernelTest : public testing::TestWithParam<KernelCase> {
 protected:
  void SetUp() override {
    const auto missing = missing_feature(kernel().isa, cpu_features());
    if (missing) GTEST_SKIP() << kernel().name << " " << *missing;
  }
  const MicroKernel& kernel() const { return *GetParam().kernel; }
  DType source() const { return GetParam().source; }
};

/// A buffer of exactly `bytes` bytes at kPanelAlignment, filled with NaN bit patterns.
class AlignedBuffer {
 public:
  explicit AlignedBuffer(std::int64_t bytes)
      : bytes_(static_cast<std::size_t>(bytes)),
        data_(static_cast<unsigned char*>(::operator new(bytes_, kAlignment))) {
    std::memset(data_.get(), 0xff, bytes_);
  }
  unsigned char* data() { return data_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{kPanelAlignment};
  struct Free {
    void operator()(unsigned char* data) const { ::operator delete(data, kAlignment); }
  };
  std::size_t bytes_;
  std::unique_ptr<unsigned char, Free> data_;
};

/// A row-major matrix of one element type with a row stride, NaN where nothing was set.
class RowMajor {
 public:
  RowMajor(DType type, std::int64_t rows, std::int64_t stride)
      : type_(type), stride_(stride), buffer_(rows * stride * bytes_of(type)) {}
  void* data() { return buffer_.data(); }
  std::int64_t stride() const { return stride_; }
  void set(std::int64_t row, std::int64_t column, double value) {
    encode(value, type_, place(row, column));
  }
  void set_random(Random& random, Shape shape, Data data) {
    for (std::int64_t row = 0; row < shape.rows; ++row) {
      for (std::int64_t column = 0; column < shape.columns; ++column) {
        set(row, column, random_value(random, type_, data));
      }
    }
  }
  void copy_from(RowMajor& other, Shape shape) {
    for (std::int64_t row = 0; row < shape.rows; ++row) {
      for (std::int64_t column = 0; column < shape.columns; ++column) {
        set(row, column, other.get(row, column));
      }
    }
  }
  double get(std::int64_t row, std::int64_t column) { return decode(place(row, column), type_); }

 private:
  unsigned char* place(std::int64_t row, std::int64_t column) {
    return buffer_.data() + (row * stride_ + column) * bytes_of(type_);
  }
  DType type_;
  std::int64_t stride_;
  AlignedBuffer buffer_;
};

/// The most that a sum of `terms` products may differ from the exact one: exact data not at all,
/// other data by one rounding of the magnitude a term.
inline double tolerance(const MicroKernel& kernel, Data data, std::int64_t terms,
                        double magnitude) {
  if (data == Data::kExact) return 0;
  const double unit = kernel.accumulator == DType::kF64 ? 0x1p-53 : 0x1p-24;
  return unit * magnitude * static_cast<double>(terms + 2);
}

}  // namespace tilewright::cpu::test
