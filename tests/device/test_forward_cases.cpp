#include <cstdlib>

#include "device/case_pool.h"
#include "device/gpu_fixture.h"
#include "support/case_table.h"
#include "tilewright/error.h"

// The problem table on a GPU: fresh inputs, poisoned outputs, guard bands, against fp64.
namespace tilewright::device_tests {
namespace {

constexpr std::int64_t kMaxDim = 512;

/// What no CUDA kernel serves is refused; empty for a case that must run.
std::string expected_refusal(const cases::CaseSpec& spec) {
  if (spec.dtype == DType::kF64) return "f64";
  if (spec.extents.head_dim > kMaxDim || spec.extents.value_dim > kMaxDim) return "head dim";
  return {};
}

void run_on_gpu(const cases::Case& problem, Engine& engine, Tally& tally) {
  const cases::CaseSpec spec = cases::spec_of(problem);
  const std::uint64_t seed = cases::seed_of(problem.id());
  cases::EntryContext context(spec.extents, seed);
  const Program program = spec.entry.make(context);
  const cases::Operands operands =
      cases::random_operands(spec.extents, spec.dtype, seed + 1, spec.layout);
  const cases::Results results = cases::results_for(operands.inputs(), spec.results);
  const DeviceCall call(program, operands, results);
  const CallOptions options{.scale = spec.scale};
  try {
    tally.took(engine.attention(call.program(), call.inputs(), call.outputs(), options).kernel);
  } catch (const Error& error) {
    const bool allowed = error.code() == ErrorCode::kUnsupported && !expected_refusal(spec).empty();
    if (allowed) ++tally.refused;
    if (!allowed) tally.fail(problem.id(), error.what());
    return;
  }
  ++tally.ran;
  std::string why = call.download();
  if (why.empty()) {
    const cases::Reference reference =
        cases::reference_of(program, operands.inputs(), options, spec.results.out_dtype);
    why = cases::mismatch(results, reference, spec.dtype);
  }
  if (!why.empty()) tally.fail(problem.id(), why);
}

class ForwardCases : public GpuTest {};

TEST_F(ForwardCases, TheCoveringArrayMeetsTheTolerance) {
  EngineOptions options;
  if (std::getenv("TILEWRIGHT_CACHE_DIR") == nullptr) options.cache_dir = "none";
  Engine engine(options);
  Tally tally;
  for_each_case([&](const cases::Case& problem) { run_on_gpu(problem, engine, tally); });
  tally.report();
  GTEST_LOG_(INFO) << engine.stats().compiles << " kernels compiled in "
                   << engine.stats().compile_ms << " ms in all";
}

}  // namespace
}  // namespace tilewright::device_tests
