#include <sys/syscall.h>
#include <unistd.h>

#include "backends/cpu/microkernels.h"

namespace tilewright::cpu {
namespace {

// Linux keeps the 8 KB tile state of AMX from a process until it asks (arch/x86/xstate.rst).
bool request_amx_tiles() {
  constexpr long kArchReqXcompPerm = 0x1023;
  constexpr long kXfeatureXtiledata = 18;
  return syscall(SYS_arch_prctl, kArchReqXcompPerm, kXfeatureXtiledata) == 0;
}

// The compiler's run-time library reads CPUID, and XGETBV for the register state that the operating
// system saves: an instruction set is reported only where both have it.
CpuFeatures detect() {
  __builtin_cpu_init();
  CpuFeatures features;
  features.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("f16c");
  features.avx512 = features.avx2 && __builtin_cpu_supports("avx512f") &&
                    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
  features.avx512_bf16 = features.avx512 && __builtin_cpu_supports("avx512bf16");
  features.amx_bf16 = features.avx512_bf16 && __builtin_cpu_supports("amx-tile") &&
                      __builtin_cpu_supports("amx-bf16") && request_amx_tiles();
  return features;
}

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

std::optional<std::string> missing_feature(Isa isa, const CpuFeatures& features) {
  switch (isa) {
    case Isa::kPortable:
      return std::nullopt;
    case Isa::kAvx2:
      if (features.avx2) return std::nullopt;
      return "needs avx2, fma and f16c: this CPU lacks them";
    case Isa::kAvx512:
      if (features.avx512) return std::nullopt;
      return "needs avx512 f, bw, dq and vl: this CPU lacks them";
    case Isa::kAvx512Bf16:
      if (features.avx512_bf16) return std::nullopt;
      return "needs avx512_bf16: this CPU lacks it";
    case Isa::kAmx:
      if (features.amx_bf16) return std::nullopt;
      return "needs amx_tile and amx_bf16: this CPU lacks them or the system refuses the tile "
             "state";
  }
  return "unknown instruction set";
}

}  // namespace tilewright::cpu
