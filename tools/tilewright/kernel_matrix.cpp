#include "kernel_matrix.h"

#include "backends/cpu/microkernels.h"
#include "base/formatted.h"
#include "cuda_kernel_rows.h"

namespace tilewright::cli {

namespace {

constexpr DType kSources[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16};

const char* needs(cpu::Isa isa) {
  switch (isa) {
    case cpu::Isa::kPortable:
      return "any x86-64";
    case cpu::Isa::kAvx2:
      return "AVX2, FMA, F16C";
    case cpu::Isa::kAvx512:
      return "AVX-512 F, BW, DQ, VL";
    case cpu::Isa::kAvx512Bf16:
      return "AVX-512 BF16";
    case cpu::Isa::kAmx:
      return "AMX-BF16";
  }
  return "";
}

std::string sources_of(const cpu::MicroKernel& kernel) {
  std::string words;
  for (const DType dtype : kSources) {
    if ((kernel.sources >> static_cast<unsigned>(dtype) & 1U) == 0) continue;
    words += (words.empty() ? "" : ", ") + std::string(name(dtype));
  }
  return words;
}

}  // namespace

std::string kernel_matrix() {
  std::string text =
      "| kernel | needs | query, key, value | products in | sums in | E, Ev |\n"
      "|---|---|---|---|---|---|\n";
  for (const cpu::MicroKernel* kernel : cpu::micro_kernel_rows()) {
    text += formatted("| `cpu/{}` | {} | {} | {} | {} | 1 to {} |\n", kernel->name,
                      needs(kernel->isa), sources_of(*kernel), name(kernel->compute),
                      name(kernel->accumulator), cpu::kMaxHeadDim);
  }
  text += cuda_kernel_rows();
  return text + "| `reference` | any CPU | f64, f32, f16, bf16 | f64 | f64 | any |\n";
}

}  // namespace tilewright::cli
