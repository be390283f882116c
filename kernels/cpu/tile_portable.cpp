// f32 and f64 tiles for any CPU: 4 x 8 and 4 x 4 accumulator blocks. No flags beyond the baseline.

#include "registers_portable.h"
#include "row_of_gemm.h"
#include "rows.h"

namespace tilewright::cpu {

constinit const MicroKernel kF32Portable =
    make_row<PortableRegisters<float>, PortableRegisters<float>>("f32_portable", Isa::kPortable);
constinit const MicroKernel kF64Portable =
    make_row<PortableRegisters<double>, PortableRegisters<double>>("f64_portable", Isa::kPortable);

}  // namespace tilewright::cpu
