#include "backends/cpu/microkernels.h"

#include <array>

#include "kernels/cpu/rows.h"
#include "tilewright/error.h"

namespace tilewright::cpu {
namespace {

constexpr std::array<const MicroKernel*, 8> kRows = {&kBf16Amx,     &kBf16Avx512, &kF32Avx512,
                                                     &kF64Avx512,   &kF32Avx2,    &kF64Avx2,
                                                     &kF32Portable, &kF64Portable};

constexpr std::array<std::string_view, 5> kIsaNames = {"portable", "avx2", "avx512", "avx512bf16",
                                                       "amx"};

std::int64_t round_up(std::int64_t count, std::int64_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

std::string type_name(DType type) { return std::string(name(type)); }

std::int64_t compute_bytes(const MicroKernel& kernel) {
  return static_cast<std::int64_t>(size_bytes(kernel.compute));
}

// A CPU generation: what forcing `forced` allows beside rows of that very instruction set.
bool within_forced(const MicroKernel& row, DType source, Isa forced) {
  if (row.isa == forced) return true;
  const bool forced_bf16 = forced == Isa::kAvx512Bf16 || forced == Isa::kAmx;
  return forced_bf16 && source != DType::kBF16 && row.isa == Isa::kAvx512;
}

std::string rejection(const MicroKernel& row, DType source, std::optional<Isa> forced,
                      const CpuFeatures& features) {
  if (forced && !within_forced(row, source, *forced)) {
    return "not " + std::string(isa_name(*forced)) + ", the instruction set asked for";
  }
  if ((row.sources >> static_cast<unsigned>(source) & 1U) == 0) {
    return "does not take " + type_name(source);
  }
  if (source != DType::kF64 && row.compute == DType::kF64) {
    return "computes in f64, which " + type_name(source) + " does not ask for";
  }
  return missing_feature(row.isa, features).value_or("");
}

[[noreturn]] void raise_no_kernel(DType source, Isa forced, const CpuFeatures& features) {
  const std::optional<std::string> missing = missing_feature(forced, features);
  throw Error({.code = ErrorCode::kUnsupported,
               .what = "the instruction set asked for cannot run here",
               .where = "TILEWRIGHT_CPU_ISA",
               .expected = "one that this CPU has, or nothing",
               .got = std::string(isa_name(forced)) + " for " + type_name(source) + ": " +
                      missing.value_or("it has no kernel for this type"),
               .hint = "leave the variable unset: the best kernel is chosen at run time"});
}

}  // namespace

std::span<const MicroKernel* const> micro_kernel_rows() { return kRows; }

std::vector<KernelVerdict> judge_micro_kernels(DType source, std::optional<Isa> forced,
                                               const CpuFeatures& features) {
  std::vector<KernelVerdict> verdicts;
  for (const MicroKernel* row : kRows) {
    verdicts.push_back({row, rejection(*row, source, forced, features)});
  }
  return verdicts;
}

const MicroKernel& choose_micro_kernel(DType source, std::optional<Isa> forced,
                                       const CpuFeatures& features) {
  if (forced && missing_feature(*forced, features)) raise_no_kernel(source, *forced, features);
  for (const KernelVerdict& verdict : judge_micro_kernels(source, forced, features)) {
    if (verdict.rejection.empty()) return *verdict.kernel;
  }
  raise_no_kernel(source, forced.value_or(Isa::kPortable), features);
}

std::string_view isa_name(Isa isa) { return kIsaNames[static_cast<std::size_t>(isa)]; }

std::optional<Isa> parse_isa(std::string_view name) {
  for (std::size_t i = 0; i < kIsaNames.size(); ++i) {
    if (kIsaNames[i] == name) return static_cast<Isa>(i);
  }
  return std::nullopt;
}

std::int64_t packed_query_row_bytes(const MicroKernel& kernel, std::int64_t depth) {
  return round_up(depth, kernel.depth_multiple) * compute_bytes(kernel);
}

std::int64_t packed_key_panel_bytes(const MicroKernel& kernel, std::int64_t depth) {
  return kernel.column_multiple * packed_query_row_bytes(kernel, depth);
}

std::int64_t padded_columns(const MicroKernel& kernel, std::int64_t columns) {
  return round_up(columns, kernel.column_multiple);
}

std::int64_t packed_query_bytes(const MicroKernel& kernel, std::int64_t rows, std::int64_t depth) {
  return round_up(rows * packed_query_row_bytes(kernel, depth), kPanelAlignment);
}

std::int64_t packed_key_bytes(const MicroKernel& kernel, std::int64_t kv, std::int64_t depth) {
  const std::int64_t panels = padded_columns(kernel, kv) / kernel.column_multiple;
  return round_up(panels * packed_key_panel_bytes(kernel, depth), kPanelAlignment);
}

std::int64_t packed_value_bytes(const MicroKernel& kernel, std::int64_t kv, std::int64_t columns) {
  return round_up(
      padded_columns(kernel, kv) * padded_columns(kernel, columns) * compute_bytes(kernel),
      kPanelAlignment);
}

}  // namespace tilewright::cpu
