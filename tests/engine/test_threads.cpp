// Many threads, forked processes, and the host's own threads and memory.

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "engine/calls.h"
#include "support/comparison.h"

namespace tilewright::cases {
namespace {

Program window(int width) {
  const Number w("width", width);
  return trace(
      [&](Score s, Index, Index h, Index q, Index kv) { return s - 0.01 * (h + 1.0) * (q - kv); },
      [&](Index, Index, Index q, Index kv) { return (q >= kv) & (q - kv < w); });
}

TEST(Threads, FirstCallsMayRace) {
  const Operands operands = random_operands(square(1, 2, 130, 32), DType::kF32, 30);
  for (int round = 0; round < 3; ++round) {
    Engine engine(cpu_options());
    std::vector<std::string> failures(8);
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        // Half of them ask for one structure, half for another.
        const Program program = t % 2 == 0 ? window(9 + t) : causal();
        failures[static_cast<std::size_t>(t)] =
            mismatch(call(engine, program, operands.inputs()), program, operands.inputs());
      });
    for (std::thread& thread : threads) thread.join();
    for (const std::string& failure : failures) EXPECT_EQ(failure, "");
    EXPECT_EQ(engine.stats().calls, 8);
    EXPECT_LE(engine.stats().compiles, 8);
  }
}

TEST(Threads, ConcurrentCallsOfDifferentShapesAreRight) {
  Engine engine(cpu_options());
  std::vector<std::string> failures(6);
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        const DType dtype = t % 2 == 0 ? DType::kF32 : DType::kBF16;
        const Operands operands = random_operands(square(1, 1 + t, 40 + 30 * i + t, 16), dtype,
                                                  static_cast<std::uint64_t>(t));
        const Program program = window(5 + i);
        failures[static_cast<std::size_t>(t)] +=
            mismatch(call(engine, program, operands.inputs()), program, operands.inputs());
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) EXPECT_EQ(failure, "");
}

TEST(Threads, OnePreparedAttentionServesMany) {
  Engine engine(cpu_options());
  const Operands operands = random_operands(square(2, 2, 200, 32), DType::kF32, 31);
  const Attention attention = engine.prepare(causal(), problem_of(operands.inputs()), true);
  const Results expected = results_for(operands.inputs());
  attention.forward(operands.inputs(), expected.outputs());
  std::vector<std::string> failures(4);
  std::vector<std::thread> threads;
  for (std::string& failure : failures)
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        const Results results = results_for(operands.inputs());
        attention.forward(operands.inputs(), results.outputs());
        failure += compare_bits(results.out, expected.out).reason;
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) EXPECT_EQ(failure, "");
}

TEST(Threads, ALimitOfOneGivesTheSameBits) {
  EngineOptions one = cpu_options();
  one.threads = 1;
  Engine limited(one), free(cpu_options());
  const Operands operands = random_operands(square(1, 3, 300, 32), DType::kF32, 32);
  const Results a = call(limited, causal(), operands.inputs());
  const Results b = call(free, causal(), operands.inputs());
  EXPECT_EQ(compare_bits(a.out, b.out).reason, "");
}

/// Runs `body` in a forked child with a deadline; its exit code, or -1 where it had to be ended.
int in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Threads, AForkedChildMayCallToo) {
  Engine engine(cpu_options());
  const Operands operands = random_operands(square(1, 3, 300, 32), DType::kF32, 33);
  const Results expected = call(engine, causal(), operands.inputs());
  const auto child = [&] {
    const Results again = call(engine, causal(), operands.inputs());
    if (!compare_bits(again.out, expected.out).passed) return 1;
    // A structure that the parent never compiled.
    if (!mismatch(call(engine, window(4), operands.inputs()), window(4), operands.inputs()).empty())
      return 2;
    Engine fresh(cpu_options());
    return mismatch(call(fresh, causal(), operands.inputs()), causal(), operands.inputs()).empty()
               ? 0
               : 3;
  };
  EXPECT_EQ(in_child(child), 0);
  EXPECT_EQ(mismatch(call(engine, causal(), operands.inputs()), causal(), operands.inputs()), "");
}

TEST(HostServices, AllocatorServesEveryWorkspaceByte) {
  EngineOptions options = cpu_options();
  std::atomic<std::size_t> live{0};
  std::atomic<int> calls{0};
  options.host.allocate = [&](std::size_t bytes) {
    ++calls;
    live += bytes;
    return std::aligned_alloc(64, bytes);
  };
  options.host.deallocate = [&](void* memory, std::size_t bytes) {
    live -= bytes;
    std::free(memory);
  };
  Engine engine(options);
  const Operands operands = random_operands(square(1, 2, 300, 32), DType::kF32, 34);
  EXPECT_EQ(mismatch(call(engine, causal(), operands.inputs()), causal(), operands.inputs()), "");
  EXPECT_GT(calls.load(), 0);
  EXPECT_EQ(live.load(), 0U);
}

TEST(HostServices, AnAllocatorThatFailsIsAnError) {
  EngineOptions options = cpu_options();
  options.host.allocate = [](std::size_t) -> void* { return nullptr; };
  options.host.deallocate = [](void*, std::size_t) {};
  Engine engine(options);
  const Operands operands = random_operands(square(1, 2, 300, 32), DType::kF32, 35);
  const Results results = results_for(operands.inputs());
  const Error error =
      error_of([&] { engine.attention(causal(), operands.inputs(), results.outputs()); });
  EXPECT_NE(std::string(error.what()).find("memory"), std::string::npos);
}

TEST(HostServices, ParallelForRunsEveryTask) {
  EngineOptions options = cpu_options();
  std::atomic<std::int64_t> tasks{0};
  options.host.parallel_for = [&](std::int64_t count,
                                  const std::function<void(std::int64_t)>& body) {
    std::vector<std::thread> threads;
    // Backwards and each on its own thread: no order and no thread may matter.
    for (std::int64_t i = count; i-- > 0;) threads.emplace_back([&, i] { body(i); });
    for (std::thread& thread : threads) thread.join();
    tasks += count;
  };
  Engine engine(options);
  const Operands operands = random_operands(square(2, 3, 300, 32), DType::kF32, 36);
  EXPECT_EQ(mismatch(call(engine, causal(), operands.inputs()), causal(), operands.inputs()), "");
  EXPECT_GT(tasks.load(), 0);
}

TEST(HostServices, FaultsReachTheCallerThroughTheHostsThreads) {
  EngineOptions options = cpu_options();
  options.host.parallel_for = [](std::int64_t count,
                                 const std::function<void(std::int64_t)>& body) {
    for (std::int64_t i = 0; i < count; ++i) body(i);
  };
  Engine engine(options);
  Tensor table(DType::kF32, {50});
  table.fill(0.0);
  const Capture bias("bias", table);
  const Program program = trace([&](Score s, Index, Index, Index q, Index) { return s + bias[q]; });
  const Operands operands = random_operands(square(1, 2, 300, 32), DType::kF32, 37);
  EXPECT_EQ(error_of([&] { call(engine, program, operands.inputs()); }).code(),
            ErrorCode::kIndexOutOfRange);
}

}  // namespace
}  // namespace tilewright::cases
