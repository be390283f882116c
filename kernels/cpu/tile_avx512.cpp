// f32 and f64 tiles for AVX-512: 14 x 32 and 14 x 16 accumulator blocks.
// Compile with -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mf16c.

#include "registers_avx512.h"
#include "row_of_gemm.h"
#include "rows.h"

namespace tilewright::cpu {

constinit const MicroKernel kF32Avx512 = make_row<Avx512F32, Avx512F32>("f32_avx512", Isa::kAvx512);
constinit const MicroKernel kF64Avx512 = make_row<Avx512F64, Avx512F64>("f64_avx512", Isa::kAvx512);

}  // namespace tilewright::cpu
