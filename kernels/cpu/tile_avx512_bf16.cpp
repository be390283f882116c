// bf16 tiles with vdpbf16ps: 14 x 32 fp32 accumulators, two depth rows an instruction.
// Compile with the flags of AVX-512 and -mavx512bf16.
//
// Numeric notes: vdpbf16ps adds both products of a pair to the fp32 sum in one instruction, rounds
// to nearest even, and takes subnormal inputs and results as zero.

#include "registers_avx512.h"
#include "row_of_gemm.h"
#include "rows.h"

namespace tilewright::cpu {
namespace {

struct Avx512Bf16 : Avx512F32 {
  using Factor = std::uint32_t;  // a pair of bf16 along the depth
  using Packed = Bf16;
  static constexpr int kDepthStep = 2;
  static constexpr int kDepthMultiple = 2;

  static __m512bh load_panel(const unsigned char* p) {
    return reinterpret_cast<__m512bh>(_mm512_loadu_si512(p));
  }
  /// A is bf16 wherever it lies, so the pair may be aligned to 2 bytes only.
  static __m512bh spread(const Factor* p) {
    int pair;
    __builtin_memcpy(&pair, p, sizeof(pair));
    return reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
  }
  static Register multiply_add(__m512bh a, __m512bh b, Register c) {
    return _mm512_dpbf16_ps(c, a, b);
  }
};

}  // namespace

constinit const MicroKernel kBf16Avx512 =
    make_row<Avx512Bf16, Avx512F32>("bf16_avx512bf16", Isa::kAvx512Bf16);

}  // namespace tilewright::cpu
