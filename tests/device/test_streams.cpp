#include <cstring>

#include "device/cuda_graph.h"
#include "device/gpu_fixture.h"
#include "engine/calls.h"

// Streams, graphs and devices: where a call runs and what it reads.
namespace tilewright::device_tests {
namespace {

class Streams : public GpuTest {};

Program documents(const Capture& table) {
  return trace([table](Index, Index, Index q, Index kv) {
    return Index(table[q]) == Index(table[kv]) && q >= kv;
  });
}

cases::Tensor document_table(std::int64_t length, std::int64_t each) {
  cases::Tensor table(DType::kI32, {length});
  table.fill([each](const Dims& at) { return static_cast<double>(at[0] / each); });
  return table;
}

TEST_F(Streams, ACallRunsOnTheCallersStream) {
  Engine engine(uncached_options());
  const Stream stream;
  const cases::Operands operands =
      cases::random_operands(cases::square(2, 3, 300, 128), DType::kBF16, 7);
  const cases::Results results = cases::results_for(operands.inputs());
  const DeviceCall call(cases::causal(), operands, results);
  engine.attention(call.program(), call.inputs(), call.outputs(),
                   {.scale = {}, .stream = stream.handle()});
  stream.synchronise();
  EXPECT_EQ(call.download(), "");
  EXPECT_EQ(cases::mismatch(results, cases::causal(), operands.inputs()), "");
}

TEST_F(Streams, AReplayReadsCapturedTensorsAndInputsAnew) {
  Engine engine(uncached_options());
  const Stream stream;
  const std::int64_t length = 500;
  const cases::Operands operands =
      cases::random_operands(cases::square(1, 2, length, 64), DType::kF16, 8);
  cases::Tensor table = document_table(length, 100);
  const Program program = documents(Capture("doc", table));
  const cases::Results results = cases::results_for(operands.inputs());
  const DeviceCall call(program, operands, results);
  const CallOptions on_stream{.scale = {}, .stream = stream.handle()};
  engine.attention(call.program(), call.inputs(), call.outputs(), on_stream);
  stream.synchronise();
  const std::int64_t compiles = engine.stats().compiles;
  const Graph graph(
      stream, [&] { engine.attention(call.program(), call.inputs(), call.outputs(), on_stream); });
  EXPECT_EQ(engine.stats().compiles, compiles);

  for (const std::int64_t each : {50, 333, 1000}) {
    cases::Tensor other = document_table(length, each);
    cases::Tensor wanted = cases::copy_of(other);
    const DeviceCopy fresh(wanted);
    call.poison();
    // The graph knows the table's address; its content changes under it.
    const cuda::Gpu& gpu = *machine().gpus.front();
    const cuda::ContextScope scope(gpu.driver(), gpu.context());
    ASSERT_EQ(gpu.driver().copy_to_device(
                  reinterpret_cast<cuda::DeviceAddress>(call.capture(0).view().data),
                  wanted.view().data, static_cast<std::size_t>(length) * 4),
              0);
    graph.replay(stream);
    stream.synchronise();
    ASSERT_EQ(call.download(), "");
    EXPECT_EQ(cases::mismatch(results, documents(Capture("doc", other)), operands.inputs()), "")
        << "documents of " << each;
  }
}

TEST_F(Streams, ManyCallsOnManyStreamsDoNotDisturbEachOther) {
  Engine engine(uncached_options());
  const cases::Operands operands =
      cases::random_operands(cases::square(2, 4, 700, 64), DType::kBF16, 9);
  const Program program = cases::causal();
  const cases::Reference reference = cases::reference_of(program, operands.inputs());
  constexpr std::size_t kStreams = 4;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<cases::Results> results;
  for (std::size_t i = 0; i < kStreams; ++i) {
    streams.push_back(std::make_unique<Stream>());
    results.push_back(cases::results_for(operands.inputs()));
  }
  std::vector<std::unique_ptr<DeviceCall>> calls;
  for (std::size_t i = 0; i < kStreams; ++i)
    calls.push_back(std::make_unique<DeviceCall>(program, operands, results[i]));
  for (int round = 0; round < 50; ++round)
    for (std::size_t i = 0; i < kStreams; ++i)
      engine.attention(calls[i]->program(), calls[i]->inputs(), calls[i]->outputs(),
                       {.scale = {}, .stream = streams[i]->handle()});
  for (std::size_t i = 0; i < kStreams; ++i) {
    ASSERT_EQ(calls[i]->download(), "");
    EXPECT_EQ(cases::mismatch(results[i], reference, DType::kBF16), "") << "stream " << i;
  }
}

TEST_F(Streams, EachDeviceComputesWhatLiesOnIt) {
  if (machine().gpus.size() < 2) GTEST_SKIP() << "this machine has one GPU";
  Engine engine(uncached_options());
  const cases::Operands operands =
      cases::random_operands(cases::square(1, 2, 200, 64), DType::kBF16, 10);
  for (const int ordinal : {1, 0}) {
    const cases::Results results = cases::results_for(operands.inputs());
    const DeviceCall call(cases::causal(), operands, results, ordinal);
    engine.attention(call.program(), call.inputs(), call.outputs());
    EXPECT_EQ(call.download(), "");
    EXPECT_EQ(cases::mismatch(results, cases::causal(), operands.inputs()), "") << ordinal;
  }
}

}  // namespace
}  // namespace tilewright::device_tests
