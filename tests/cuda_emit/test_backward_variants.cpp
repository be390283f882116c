#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/cuda/compile/compiler.h"
#include "backends/cuda/emit/backward_text.h"
#include "backends/cuda/nvrtc/nvrtc_search.h"
#include "backends/cuda/sources/kernel_sources.h"
#include "cuda_emit/kernel_variant.h"
#include "plan/plan.h"
#include "support/entry.h"

/// NVRTC compiles the variants of backward_variants.txt: shared memory as planned, no more spills
/// than stated, no matrix instructions that wait for each other. Needs no GPU.
namespace tilewright::test {
namespace {

constexpr int kAnyDriver = 1000;
constexpr std::int64_t kTokens = 4096;

std::shared_ptr<const cuda::Nvrtc> nvrtc() {
  static const cuda::NvrtcChoice choice = [] {
    backends::BackendOptions options;
    options.virtual_env = std::string(TILEWRIGHT_SOURCE_DIR) + "/.venv";
    return cuda::find_nvrtc(cuda::nvrtc_places(options), kAnyDriver);
  }();
  return choice.nvrtc;
}

Problem problem_of_line(const VariantLine& line) {
  Problem problem;
  problem.query_heads = problem.kv_heads = 8;
  problem.q_len = problem.kv_len = kTokens;
  problem.head_dim = line.head_dim;
  problem.value_dim = line.value_dim;
  problem.query_dtype = problem.key_dtype = problem.value_dtype = problem.out_dtype = line.dtype;
  return problem;
}

Program program_of(const VariantLine& line, cases::EntryContext& context) {
  for (const cases::Entry& entry : cases::entries())
    if (entry.name == line.program) return entry.make(context);
  throw std::runtime_error("no entry named " + line.program);
}

cuda::BackwardRow row_of(const VariantLine& line, const Program& program, const Problem& problem) {
  const cuda::DeviceFacts device;
  const analyse::StructureFacts facts = analyse::structure_facts(program.structure());
  const bool is_portable = line.demand.starts_with("w");
  const std::string prefix =
      (is_portable ? "portable_backward_" : "hopper_backward_") + line.demand + "_";
  for (const cuda::BackwardCandidate& candidate :
       cuda::backward_candidates({.program = program.structure(),
                                  .facts = facts,
                                  .problem = problem,
                                  .device = device,
                                  .block_lists = line.has("lists"),
                                  .device_lengths = line.has("lengths")}))
    if (candidate.rejection.empty() && candidate.row.name.starts_with(prefix)) return candidate.row;
  throw std::runtime_error("no row serves " + line.text());
}

/// Fails to compile where the kernel's own layout differs from the planner's.
std::string portable_assertions(const cuda::BackwardRow& row, const Problem& problem) {
  return fmt::format(
      "namespace tilewright::cuda {{\n"
      "using PlannedLayout = PortableBackwardLayout<EmittedVariant>;\n"
      "static_assert(PlannedLayout::kBytes == {});\n"
      "static_assert(PlannedLayout::kThreads == {});\n"
      "static_assert(PlannedLayout::kKeyTile == {});\n"
      "using QuerySums = GradientCells<PlannedLayout::kQueryTile, EmittedVariant::kHeadTile>;\n"
      "static_assert(QuerySums::kFloats == {});\n"
      "using KeySums = GradientCells<PlannedLayout::kKeyTile, EmittedVariant::kHeadTile>;\n"
      "static_assert(KeySums::kFloats == {});\n"
      "using ValueSums = GradientCells<PlannedLayout::kKeyTile, EmittedVariant::kValueTile>;\n"
      "static_assert(ValueSums::kFloats == {});\n"
      "}}  // namespace tilewright::cuda\n",
      cuda::backward_shared_bytes(row, problem), row.threads, row.key_tile,
      row.query_sum_floats(problem.head_dim), row.key_sum_floats(problem.head_dim),
      row.key_sum_floats(problem.value_dim));
}

std::string assertions(const cuda::BackwardRow& row, const Problem& problem) {
  if (row.family == cuda::Family::kPortable) return portable_assertions(row, problem);
  return fmt::format(
      "namespace tilewright::cuda {{\n"
      "using PlannedLayout = BackwardLayout<EmittedVariant>;\n"
      "static_assert(PlannedLayout::kBytes == {});\n"
      "static_assert(PlannedLayout::kThreads == {});\n"
      "static_assert(PlannedLayout::kKeyTile == {});\n"
      "static_assert(PlannedLayout::kSumFloats == {});\n"
      "static_assert(PlannedLayout::kKeySumFloats == {});\n"
      "static_assert(PlannedLayout::kValueSumFloats == {});\n"
      "}}  // namespace tilewright::cuda\n",
      cuda::backward_shared_bytes(row, problem), row.threads, row.key_tile,
      row.query_sum_floats(problem.head_dim), row.key_sum_floats(problem.head_dim),
      row.key_sum_floats(problem.value_dim));
}

std::string capture_assertions(const cuda::BackwardSource& source) {
  if (source.capture_targets.empty()) return {};
  return fmt::format(
      "namespace tilewright::cuda {{\n"
      "using CapturesPlanned = CaptureLayout<EmittedCaptureVariant>;\n"
      "static_assert(CapturesPlanned::kBytes == {});\n"
      "static_assert(CapturesPlanned::kThreads == {});\n"
      "static_assert(CapturesPlanned::kKeyTile == {});\n"
      "}}  // namespace tilewright::cuda\n",
      source.capture_shape.shared_bytes, source.capture_shape.threads(),
      cuda::CaptureShape::kKeyTile);
}

class BackwardVariants : public ::testing::TestWithParam<VariantLine> {};

TEST_P(BackwardVariants, CompileAsPlanned) {
  if (nvrtc() == nullptr) GTEST_SKIP() << "no NVRTC here: scripts/setup.sh test installs it";
  const VariantLine& line = GetParam();
  cases::EntryContext context({.batch = 1,
                               .kv_batch = 1,
                               .query_heads = 8,
                               .kv_heads = 8,
                               .q_len = kTokens,
                               .kv_len = kTokens,
                               .head_dim = line.head_dim,
                               .value_dim = line.value_dim},
                              11);
  const Program program = program_of(line, context);
  const Problem problem = problem_of_line(line);
  ir::DerivativeRequest wanted;
  for (const ir::CaptureSlot& slot : program.structure().captures())
    wanted.captures.push_back(line.has("captures") && is_floating(slot.dtype));
  const ir::Derivative derivative = ir::differentiate(program.structure(), wanted);
  const analyse::StructureFacts facts = analyse::structure_facts(*derivative.program);
  const cuda::BackwardRow row = row_of(line, program, problem);
  const plan::Plan plan;
  const analyse::BindingFacts bound =
      analyse::binding_facts(program.structure(), program.bindings(), problem);
  const cuda::BackwardSource source = cuda::emit_backward(
      {.program = *derivative.program,
       .facts = facts,
       .plan = plan,
       .problem = problem,
       .variant = {.fits_int32 = bound.fits_int32,
                   .checked = !(bound.subscripts_in_range && bound.divisors_nonzero),
                   .fast_functions = line.has("fast"),
                   .ordered = line.has("ordered")},
       .derivative = &derivative},
      row);
  const cuda::CompileTarget target =
      cuda::compile_target(*nvrtc(), cuda::DeviceFacts(), row.family);
  const cuda::CompileResult compiled =
      nvrtc()->compile({.file_name = "variant.cu",
                        .text = cuda::KernelSources("").inlined(
                            source.text + assertions(row, problem) + capture_assertions(source)),
                        .options = target.options,
                        .to_ptx = target.to_ptx});
  ASSERT_TRUE(compiled.succeeded) << compiled.log;
  const cuda::KernelUsage usage = cuda::usage_from_log(source.kernel_name, compiled.log);
  RecordProperty("spill_store_bytes", usage.spill_store_bytes);
  RecordProperty("stack_bytes", usage.stack_bytes);
  EXPECT_LE(usage.spill_store_bytes, line.allowed_spill_bytes());
  EXPECT_LE(usage.stack_bytes, line.allowed_spill_bytes());
  EXPECT_GT(usage.registers, 0);
  EXPECT_LE(usage.registers, row.family == cuda::Family::kPortable ? 255 : 168);
  // "wgmma serialised": matrix instructions would wait for each other.
  EXPECT_EQ(compiled.log.find("C75"), std::string::npos) << compiled.log;
}

std::string test_name(const ::testing::TestParamInfo<VariantLine>& info) {
  std::string name = info.param.text();
  for (char& c : name)
    if (c == ' ') c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Chosen, BackwardVariants,
    ::testing::ValuesIn(read_variant_lines(std::string(TILEWRIGHT_SOURCE_DIR) +
                                           "/tests/cuda_emit/backward_variants.txt")),
    test_name);

}  // namespace
}  // namespace tilewright::test
