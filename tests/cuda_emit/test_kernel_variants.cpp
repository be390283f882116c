#include <gtest/gtest.h>

#include "backends/cuda/compile/compiler.h"
#include "backends/cuda/nvrtc/nvrtc_search.h"
#include "backends/cuda/sources/kernel_sources.h"
#include "cuda_emit/kernel_variant.h"

/// NVRTC compiles the variants of kernel_variants.txt: no spill, no local memory, shared memory and
/// registers as planned. Needs no GPU.
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
  const cuda::DeviceFacts device;
  const cuda::CompileTarget target = cuda::compile_target(*nvrtc(), device, kernel.row.family);
  const std::string text = cuda::KernelSources("").inlined(kernel.source.text);
  const cuda::CompileResult compiled = nvrtc()->compile({.file_name = "variant.cu",
                                                         .text = text,
                                                         .options = target.options,
                                                         .to_ptx = target.to_ptx});
  ASSERT_TRUE(compiled.succeeded) << compiled.log;
  const cuda::KernelUsage usage = cuda::usage_from_log(kernel.source.kernel_name, compiled.log);
  const int allowed = GetParam().allowed_spill_bytes();
  EXPECT_LE(usage.spill_store_bytes, allowed);
  EXPECT_LE(usage.stack_bytes, allowed);
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

INSTANTIATE_TEST_SUITE_P(
    CoveringArray, KernelVariants,
    ::testing::ValuesIn(read_variant_lines(std::string(TILEWRIGHT_SOURCE_DIR) +
                                           "/tests/cuda_emit/kernel_variants.txt")),
    test_name);

}  // namespace
}  // namespace tilewright::test
