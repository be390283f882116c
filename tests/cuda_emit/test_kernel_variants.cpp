#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "backends/cuda/compile/compiler.h"
#include "backends/cuda/nvrtc/nvrtc_search.h"
#include "backends/cuda/sources/kernel_sources.h"
#include "cuda_emit/kernel_variant.h"
#include "cuda_emit/variant_array.h"

/// NVRTC compiles the variants of kernel_variants.txt: no spill, no local memory, shared memory and
/// registers as planned. Needs no GPU. TILEWRIGHT_VARIANTS=all compiles every combination instead.
namespace tilewright::test {
namespace {

constexpr int kAnyDriver = 1000;

class KernelVariants : public ::testing::TestWithParam<VariantLine> {
 protected:
  static std::shared_ptr<const cuda::Nvrtc> nvrtc() {
    static const cuda::NvrtcChoice choice = [] {
      backends::BackendOptions options;
      options.virtual_env = std::string(TILEWRIGHT_SOURCE_DIR) + "/.venv";
      return cuda::find_nvrtc(cuda::nvrtc_places(options), kAnyDriver);
    }();
    return choice.nvrtc;
  }
};

TEST_P(KernelVariants, CompileAsPlanned) {
  if (nvrtc() == nullptr) GTEST_SKIP() << "no NVRTC here: scripts/setup.sh test installs it";
  const PlannedKernel kernel = planned_kernel(GetParam());
  const cuda::DeviceFacts device = device_of(GetParam());
  const cuda::CompileTarget target = cuda::compile_target(*nvrtc(), device, kernel.row.family);
  const std::string text = cuda::KernelSources("").inlined(kernel.source.text);
  const cuda::CompileResult compiled = nvrtc()->compile({.file_name = "variant.cu",
                                                         .text = text,
                                                         .options = target.options,
                                                         .to_ptx = target.to_ptx});
  ASSERT_TRUE(compiled.succeeded) << compiled.log;
  const cuda::KernelUsage usage = cuda::usage_from_log(kernel.source.kernel_name, compiled.log);
  const int allowed = GetParam().allowed_spill_bytes();
  RecordProperty("spill_store_bytes", usage.spill_store_bytes);
  EXPECT_LE(usage.spill_store_bytes, allowed) << kernel.row.name;
  EXPECT_LE(usage.stack_bytes, allowed) << kernel.row.name;
  EXPECT_LE(usage.spill_load_bytes, 4 * allowed);
  EXPECT_GT(usage.registers, 0);
  EXPECT_LE(usage.registers, kernel.row.max_registers);
  // Matrix instructions would wait for each other.
  for (const char* trouble : {"instructions are serialized", "warpgroup.wait is injected"})
    EXPECT_EQ(compiled.log.find(trouble), std::string::npos) << compiled.log;
}

std::string test_name(const ::testing::TestParamInfo<VariantLine>& info) {
  std::string name = info.param.text();
  for (char& c : name)
    if (c == ' ') c = '_';
  return name;
}

const std::string& variants_file() {
  static const std::string path =
      std::string(TILEWRIGHT_SOURCE_DIR) + "/tests/cuda_emit/kernel_variants.txt";
  return path;
}

std::vector<VariantLine> wanted_variants() {
  const char* const wanted = std::getenv("TILEWRIGHT_VARIANTS");
  return wanted != nullptr && std::string(wanted) == "all" ? all_variants()
                                                           : read_variant_lines(variants_file());
}

INSTANTIATE_TEST_SUITE_P(CoveringArray, KernelVariants, ::testing::ValuesIn(wanted_variants()),
                         test_name);

/// The file is the generated array; what a line may spill is written by hand, with its reason in
/// docs/kernels. To make it again: TILEWRIGHT_WRITE_VARIANTS=path test_cuda_emit with this test.
TEST(KernelVariantsFile, IsTheCoveringArray) {
  const std::vector<VariantLine> generated = covering_variants();
  if (const char* const path = std::getenv("TILEWRIGHT_WRITE_VARIANTS")) {
    std::ofstream file(path);
    for (const VariantLine& line : generated) file << line.text() << "\n";
  }
  const std::vector<VariantLine> kept = read_variant_lines(variants_file());
  EXPECT_LE(kept.size(), 400U);
  ASSERT_EQ(kept.size(), generated.size());
  for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(kept[i].text(), generated[i].text());
}

}  // namespace
}  // namespace tilewright::test
