#include <atomic>
#include <cstdlib>
#include <mutex>
#include <thread>

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

struct Tally {
  std::atomic<int> ran{0}, refused{0};
  std::mutex mutex;
  std::map<std::string, int> kernels;
  std::vector<std::string> failures;

  void fail(const std::string& id, const std::string& why) {
    const std::lock_guard lock(mutex);
    failures.push_back(id + ": " + why);
  }
  void took(const std::string& kernel) {
    const std::lock_guard lock(mutex);
    ++kernels[kernel];
  }
};

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

/// TILEWRIGHT_CASES=n runs every n-th case.
std::size_t stride_of_cases() {
  const char* const text = std::getenv("TILEWRIGHT_CASES");
  return text == nullptr ? 1 : std::max<std::size_t>(1, std::strtoul(text, nullptr, 10));
}

class ForwardCases : public GpuTest {};

TEST_F(ForwardCases, TheCoveringArrayMeetsTheTolerance) {
  EngineOptions options;
  if (std::getenv("TILEWRIGHT_CACHE_DIR") == nullptr) options.cache_dir = "none";
  Engine engine(options);
  Tally tally;
  const std::vector<cases::Case>& all = cases::all_cases();
  const std::size_t stride = stride_of_cases();
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next.fetch_add(stride); i < all.size(); i = next.fetch_add(stride))
      run_on_gpu(all[i], engine, tally);
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::max(1U, std::thread::hardware_concurrency()); ++t)
    threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();

  for (const std::string& failure : tally.failures) ADD_FAILURE() << failure;
  EXPECT_GT(tally.ran, 0);
  for (const auto& [kernel, calls] : tally.kernels) RecordProperty(kernel, calls);
  RecordProperty("ran", tally.ran);
  RecordProperty("refused", tally.refused);
  GTEST_LOG_(INFO) << tally.ran << " cases ran, " << tally.refused << " were refused as they must, "
                   << tally.failures.size() << " failed; " << engine.stats().compiles
                   << " kernels compiled in " << engine.stats().compile_ms << " ms in all";
  for (const auto& [kernel, calls] : tally.kernels)
    GTEST_LOG_(INFO) << calls << " calls of " << kernel;
}

}  // namespace
}  // namespace tilewright::device_tests
