// The table of rows: who is chosen on which CPU, why the others are not, and what forcing does.

#include <gtest/gtest.h>

#include "backends/cpu/microkernels.h"
#include "tilewright/error.h"

namespace tilewright::cpu {
namespace {

constexpr CpuFeatures kOldCpu{};
constexpr CpuFeatures kZen3{.avx2 = true};
constexpr CpuFeatures kZen5{.avx2 = true, .avx512 = true, .avx512_bf16 = true};
constexpr CpuFeatures kSapphireRapids{
    .avx2 = true, .avx512 = true, .avx512_bf16 = true, .amx_bf16 = true};

std::string chosen(DType source, const CpuFeatures& features,
                   std::optional<Isa> forced = std::nullopt) {
  return choose_micro_kernel(source, forced, features).name;
}

TEST(MicroKernelTable, PrefersTheWidest) {
  EXPECT_EQ(chosen(DType::kF32, kOldCpu), "f32_portable");
  EXPECT_EQ(chosen(DType::kBF16, kOldCpu), "f32_portable");
  EXPECT_EQ(chosen(DType::kF64, kOldCpu), "f64_portable");
  EXPECT_EQ(chosen(DType::kF32, kZen3), "f32_avx2");
  EXPECT_EQ(chosen(DType::kBF16, kZen3), "f32_avx2");
  EXPECT_EQ(chosen(DType::kF16, kZen3), "f32_avx2");
  EXPECT_EQ(chosen(DType::kF64, kZen3), "f64_avx2");
  EXPECT_EQ(chosen(DType::kBF16, kZen5), "bf16_avx512bf16");
  EXPECT_EQ(chosen(DType::kF16, kZen5), "f32_avx512");
  EXPECT_EQ(chosen(DType::kBF16, kSapphireRapids), "bf16_amx");
  EXPECT_EQ(chosen(DType::kF64, kSapphireRapids), "f64_avx512");
}

TEST(MicroKernelTable, ForcingChoosesTheGeneration) {
  EXPECT_EQ(chosen(DType::kBF16, kSapphireRapids, Isa::kAvx512Bf16), "bf16_avx512bf16");
  EXPECT_EQ(chosen(DType::kBF16, kSapphireRapids, Isa::kAvx512), "f32_avx512");
  EXPECT_EQ(chosen(DType::kF32, kSapphireRapids, Isa::kAmx), "f32_avx512");
  EXPECT_EQ(chosen(DType::kF32, kSapphireRapids, Isa::kPortable), "f32_portable");
  EXPECT_EQ(chosen(DType::kF64, kZen3, Isa::kAvx2), "f64_avx2");
}

TEST(MicroKernelTable, ForcingWhatTheCpuLacksIsAnError) {
  try {
    chosen(DType::kF32, kZen5, Isa::kAmx);
    FAIL() << "amx was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_EQ(error.parts().where, "TILEWRIGHT_CPU_ISA");
    EXPECT_NE(error.parts().got.find("amx"), std::string::npos) << error.parts().got;
  }
}

TEST(MicroKernelTable, EveryRejectionHasItsReason) {
  const auto verdicts = judge_micro_kernels(DType::kBF16, std::nullopt, kZen3);
  ASSERT_EQ(verdicts.size(), micro_kernel_rows().size());
  EXPECT_EQ(verdicts[1].kernel->name, std::string("bf16_avx512bf16"));
  EXPECT_EQ(verdicts[1].rejection, "needs avx512_bf16: this CPU lacks it");
  int usable = 0;
  for (const KernelVerdict& verdict : verdicts) usable += verdict.rejection.empty() ? 1 : 0;
  EXPECT_EQ(usable, 2);  // f32_avx2 and f32_portable
}

TEST(MicroKernelTable, NamesRoundTrip) {
  for (const MicroKernel* row : micro_kernel_rows()) {
    EXPECT_EQ(parse_isa(isa_name(row->isa)), row->isa);
  }
  EXPECT_EQ(parse_isa("avx"), std::nullopt);
  EXPECT_EQ(parse_isa(""), std::nullopt);
}

TEST(MicroKernelTable, SizesCoverTheLayouts) {
  for (const MicroKernel* row : micro_kernel_rows()) {
    const std::int64_t size = size_bytes(row->compute);
    EXPECT_EQ(packed_query_row_bytes(*row, 64), 64 * size) << row->name;
    EXPECT_EQ(packed_key_bytes(*row, 1, 64), row->column_multiple * 64 * size) << row->name;
    EXPECT_EQ(packed_value_bytes(*row, 256, 64), 256 * 64 * size) << row->name;
    EXPECT_EQ(packed_value_bytes(*row, 1, 1) % kPanelAlignment, 0) << row->name;
    EXPECT_EQ(row->column_multiple % row->depth_multiple, 0) << row->name;
  }
}

}  // namespace
}  // namespace tilewright::cpu
