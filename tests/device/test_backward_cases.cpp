#include <algorithm>
#include <cstdlib>
#include <limits>

#include "device/case_pool.h"
#include "device/cuda_graph.h"
#include "device/gradient_fixture.h"
#include "support/case_table.h"
#include "support/gradient_cases.h"
#include "tilewright/error.h"

// Gradients on a GPU: the problem table with fresh inputs, poisoned outputs and guard bands against
// fp64; fixed orders, streams and graphs.
namespace tilewright::device_tests {
namespace {

/// What no CUDA kernel of backward serves is refused.
bool must_refuse(const cases::CaseSpec& spec) {
  const std::int64_t most = spec.dtype == DType::kF32 ? 256 : 512;
  return spec.dtype == DType::kF64 ||
         std::max(spec.extents.head_dim, spec.extents.value_dim) > most;
}

EngineOptions options() {
  EngineOptions options;
  if (std::getenv("TILEWRIGHT_CACHE_DIR") == nullptr) options.cache_dir = "none";
  return options;
}

void run_on_gpu(const cases::Case& problem, Engine& engine, Tally& tally) {
  const cases::CaseSpec spec = cases::spec_of(problem);
  const std::uint64_t seed = cases::seed_of(problem.id());
  cases::EntryContext context(spec.extents, seed);
  const Program program = spec.entry.make(context);
  cases::TrainingStep step =
      cases::step_of(cases::random_operands(spec.extents, spec.dtype, seed + 1, spec.layout),
                     seed + 2, cases::step_spec_of(spec, program));
  const bool is_expanded = spec.layout == cases::Layout::kExpanded;
  const cases::Gradients gradients = cases::gradients_for(
      step, program, true, is_expanded ? cases::Layout::kContiguous : spec.layout);
  const CallOptions call_options{.scale = spec.scale};
  try {
    const DeviceStep call(program, step, gradients);
    // A call that is refused reads nothing.
    if (!must_refuse(spec))
      engine.attention(call.program(), call.forward_inputs(), call.forward_outputs(), call_options);
    const CallReport report =
        engine.attention_backward(call.program(), call.inputs(), call.outputs(), call_options);
    if (must_refuse(spec)) return tally.fail(problem.id(), "is served: say so in must_refuse");
    tally.took(report.kernel);
    ++tally.ran;
    std::string why = call.download();
    if (why.empty())
      why = cases::mismatch(gradients, cases::gradient_reference_of(program, step, call_options),
                            spec.dtype);
    if (!why.empty()) tally.fail(problem.id(), why);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kUnsupported && must_refuse(spec))
      ++tally.refused;
    else
      tally.fail(problem.id(), error.what());
  }
}

class BackwardCases : public GpuTest {};

TEST_F(BackwardCases, TheCoveringArrayMeetsTheTolerance) {
  Engine engine(options());
  Tally tally;
  for_each_case([&](const cases::Case& problem) { run_on_gpu(problem, engine, tally); });
  tally.report();
}

}  // namespace
}  // namespace tilewright::device_tests
