#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/cpu/micro_kernel.h"

namespace tilewright::cpu {

/// What the running CPU and operating system offer, by CPUID, XGETBV and (AMX) a kernel permission.
struct CpuFeatures {
  bool avx2 = false;         ///< AVX2, FMA and F16C
  bool avx512 = false;       ///< AVX-512 F, BW, DQ and VL
  bool avx512_bf16 = false;  ///< vdpbf16ps
  bool amx_bf16 = false;     ///< AMX tiles with bf16 products, granted to this process
};

/// Detected once per process; asks Linux for the AMX tile state on the first call.
const CpuFeatures& cpu_features();

/// A row of the table and why it cannot serve a problem (empty: it can).
struct KernelVerdict {
  const MicroKernel* kernel = nullptr;
  std::string rejection;
};

/// Every row, the most preferred first, whatever the CPU.
std::span<const MicroKernel* const> micro_kernel_rows();

/// The reason why the running CPU lacks what `isa` needs ("needs avx512_bf16: this CPU lacks it"),
/// nothing where it has it.
std::optional<std::string> missing_feature(Isa isa, const CpuFeatures& features);

/// The verdict on every row for a problem with elements of `source`, the most preferred row first.
/// @param forced  the only instruction set allowed, or nothing
std::vector<KernelVerdict> judge_micro_kernels(DType source, std::optional<Isa> forced,
                                               const CpuFeatures& features);

/// The first usable row of judge_micro_kernels. The portable rows serve every type, so there is
/// one unless `forced` names what the CPU lacks: that is an Error that says so.
/// Forcing works by CPU generation: avx2, avx512 and portable serve bf16 with their f32 rows, and
/// avx512bf16 and amx serve f32, f64 and f16 with the rows of avx512.
const MicroKernel& choose_micro_kernel(DType source, std::optional<Isa> forced,
                                       const CpuFeatures& features);

/// "amx", "avx512bf16", "avx512", "avx2", "portable": the values of TILEWRIGHT_CPU_ISA.
std::string_view isa_name(Isa isa);
/// Nothing for a name that is not one of isa_name's.
std::optional<Isa> parse_isa(std::string_view name);

/// Sizes of the packed operands of one tile in bytes, multiples of kPanelAlignment.
std::int64_t packed_query_bytes(const MicroKernel& kernel, std::int64_t rows, std::int64_t depth);
std::int64_t packed_key_bytes(const MicroKernel& kernel, std::int64_t kv, std::int64_t depth);
std::int64_t packed_value_bytes(const MicroKernel& kernel, std::int64_t kv, std::int64_t columns);

/// Bytes between packed rows of Q, and between panels of column_multiple packed keys.
std::int64_t packed_query_row_bytes(const MicroKernel& kernel, std::int64_t depth);
std::int64_t packed_key_panel_bytes(const MicroKernel& kernel, std::int64_t depth);

/// kv or Ev rounded up to the kernel's column_multiple: the least row stride of S, P and O.
std::int64_t padded_columns(const MicroKernel& kernel, std::int64_t columns);

}  // namespace tilewright::cpu
