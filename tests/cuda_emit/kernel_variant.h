#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/device_facts.h"
#include "backends/cuda/emit/emit.h"
#include "tilewright/program.h"

namespace tilewright::test {

/// A kernel as a line of kernel_variants.txt names it.
struct VariantLine {
  /// Forward: "long", "short" and "listed" (Hopper rows, the last with lists), "portable",
  /// "any_layout", "lists" or "decode".
  /// Backward: the tile of the row.
  std::string demand;
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;
  DType dtype = DType::kBF16;
  std::string program;  ///< an entry of the problem table or the catalogue
  int architecture = 90;
  std::vector<std::string> options;

  bool has(const std::string& option) const;
  int allowed_spill_bytes() const;  ///< 0 unless an option says so
  /// As in the file, without what is allowed to spill.
  std::string text() const;
};

/// Every line of the file. Throws std::runtime_error for one that it cannot read.
std::vector<VariantLine> read_variant_lines(const std::string& path);

/// Whether a kernel row of the line's family serves it.
bool is_served(const VariantLine& line);

/// The device that the line is compiled for, as its driver would describe it.
cuda::DeviceFacts device_of(const VariantLine& line);

/// The kernel that the line stands for, and what is planned for it.
struct PlannedKernel {
  cuda::KernelRow row;
  cuda::ForwardSource source;  ///< asserts shared memory and register plan besides
};
PlannedKernel planned_kernel(const VariantLine& line);

}  // namespace tilewright::test
