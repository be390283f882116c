// f32 and f64 tiles for AVX2: 6 x 16 and 6 x 8 accumulator blocks.
// Compile with -mavx2 -mfma -mf16c.

#include "registers_avx2.h"
#include "row_of_gemm.h"
#include "rows.h"

namespace tilewright::cpu {

constinit const MicroKernel kF32Avx2 = make_row<Avx2F32, Avx2F32>("f32_avx2", Isa::kAvx2);
constinit const MicroKernel kF64Avx2 = make_row<Avx2F64, Avx2F64>("f64_avx2", Isa::kAvx2);

}  // namespace tilewright::cpu
