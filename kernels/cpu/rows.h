#pragma once

#include "micro_kernel.h"

namespace tilewright::cpu {

// One object per row, constant-initialised in the kernel file of its instruction set. Reading a row
// is safe on every CPU; calling its functions needs the instruction set.
extern const MicroKernel kF32Portable;
extern const MicroKernel kF64Portable;
extern const MicroKernel kF32Avx2;
extern const MicroKernel kF64Avx2;
extern const MicroKernel kF32Avx512;
extern const MicroKernel kF64Avx512;
extern const MicroKernel kBf16Avx512;
extern const MicroKernel kBf16Amx;

}  // namespace tilewright::cpu
