#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/emit/emit.h"
#include "tilewright/program.h"

namespace tilewright::test {

/// A line of kernel_variants.txt.
struct VariantLine {
  std::string row;  ///< "w2_n128": how the kernel row's name goes on behind "hopper_"
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;
  DType dtype = DType::kBF16;
  std::string program;  ///< an entry of the problem table or the catalogue
  std::vector<std::string> options;

  bool has(const std::string& option) const;
  int allowed_spill_bytes() const;  ///< 0 unless an option says so
  std::string text() const;
};

/// Every line of the file. Throws std::runtime_error for one that it cannot read.
std::vector<VariantLine> read_variant_lines(const std::string& path);

/// The kernel that the line stands for, and what is planned for it.
struct PlannedKernel {
  cuda::KernelRow row;
  cuda::ForwardSource source;  ///< asserts shared memory and register plan besides
};
PlannedKernel planned_kernel(const VariantLine& line);

}  // namespace tilewright::test
