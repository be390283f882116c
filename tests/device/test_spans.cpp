#include <algorithm>
#include <tuple>

#include "device/cuda_graph.h"
#include "device/device_lists.h"
#include "engine/calls.h"
#include "tilewright/mask_map.h"

// Block lists and mask maps on a GPU against the reference, which reads the same lists.
namespace tilewright::device_tests {
namespace {

std::string wrong_with_lists(Engine& engine, const Program& program,
                             const cases::Operands& operands, const RandomLists& host,
                             const BlockLists& lists) {
  const cases::Results results = cases::results_for(operands.inputs());
  const DeviceCall call(program, operands, results);
  engine.attention(call.program(), call.inputs(), call.outputs(),
                   {.scale = {}, .block_lists = &lists});
  if (std::string outside = call.download(); !outside.empty()) return outside;
  const cases::Reference reference =
      cases::reference_of(program, operands.inputs(), {.scale = {}, .block_lists = &host.lists});
  return cases::mismatch(results, reference, operands.query.view().dtype);
}

class Spans : public GpuTest {};

Program soft_cap() {
  return trace(
      [](Score s, Index, Index, Index, Index) { return Number(20.0) * tanh(s / Number(20.0)); });
}

/// A head dim, a program and a dtype: each has kernels of its own; f32 takes the portable family.
class ListSizes : public Spans,
                  public ::testing::WithParamInterface<std::tuple<std::int64_t, int, DType>> {};

TEST_P(ListSizes, AreSetsOfTiles) {
  Engine engine(uncached_options());
  const auto [dim, which, dtype] = GetParam();
  const Program program = which == 0 ? Program() : which == 1 ? cases::causal() : soft_cap();
  std::uint32_t seed = 1;
  for (const auto& [q_block, kv_block] :
       {std::pair<std::int64_t, std::int64_t>{128, 128}, {96, 64}, {8, 5}, {300, 37}, {1000, 2000}})
    for (const bool full : {false, true}) {
      cases::Extents extents = cases::square(2, 4, 430, dim);
      extents.kv_heads = 2;
      extents.kv_len = 777;
      const ListSpec spec{.q_block = q_block,
                          .kv_block = kv_block,
                          .batches = seed % 2 == 0 ? 1 : 2,
                          .heads = seed % 3 == 0 ? 4 : 1,
                          .full = full,
                          .seed = ++seed};
      const RandomLists lists(extents, spec);
      const ListsOnDevice on_device(lists);
      const cases::Operands operands = cases::random_operands(extents, dtype, 100 + seed);
      EXPECT_EQ(wrong_with_lists(engine, program, operands, lists, on_device.lists), "")
          << "blocks of " << q_block << " x " << kv_block;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Spans, ListSizes,
    ::testing::Combine(::testing::Values(64, 128, 72, 192), ::testing::Values(0, 1, 2),
                       ::testing::Values(DType::kBF16, DType::kF16, DType::kF32)));

/// More items than multiprocessors, so that blocks go from one to the next, some of them empty.
TEST_F(Spans, ManyItemsABlock) {
  EngineOptions options = uncached_options();
  options.require_fast = true;
  Engine engine(options);
  for (const std::int64_t q_block : {40, 128}) {
    const cases::Extents extents = cases::square(2, 40, 600, 128);
    const RandomLists lists(extents, {.q_block = q_block, .kv_block = 32, .heads = 40, .seed = 51});
    const ListsOnDevice on_device(lists);
    const cases::Operands operands = cases::random_operands(extents, DType::kBF16, 52);
    EXPECT_EQ(wrong_with_lists(engine, cases::causal(), operands, lists, on_device.lists), "")
        << q_block;
  }
}

TEST_F(Spans, ATableDecidesThePairsOfPartialTiles) {
  Engine engine(uncached_options());
  const std::int64_t length = 900;
  cases::Tensor table(DType::kI32, {length});
  table.fill([](const Dims& at) { return static_cast<double>(at[0] / 170); });
  const Capture document("doc", table);
  const Program documents = trace([document](Index, Index, Index q, Index kv) {
    return Index(document[q]) == Index(document[kv]) && q >= kv;
  });
  const Program scattered = trace([document](Index, Index, Index q, Index kv) {
    return (q * 7 + Index(document[kv]) * 3 + kv * 5) % 11 < 6;
  });
  for (const Program& program : {documents, scattered})
    for (const std::int64_t kv_block : {24, 128}) {
      const cases::Extents extents = cases::square(1, 3, length, 64);
      const RandomLists lists(extents, {.kv_block = kv_block, .heads = 3, .seed = 61});
      const ListsOnDevice on_device(lists);
      const cases::Operands operands = cases::random_operands(extents, DType::kBF16, 62);
      EXPECT_EQ(wrong_with_lists(engine, program, operands, lists, on_device.lists), "")
          << kv_block;
    }
}

TEST_F(Spans, ListsOfManyRunsAndListsOnTheHost) {
  Engine engine(uncached_options());
  cases::Extents extents = cases::square(1, 1, 70, 64);
  extents.kv_len = 30000;
  const RandomLists lists(extents, {.q_block = 64, .kv_block = 3, .seed = 9});
  const ListsOnDevice on_device(lists);
  const cases::Operands operands = cases::random_operands(extents, DType::kBF16, 5);
  EXPECT_EQ(wrong_with_lists(engine, Program(), operands, lists, on_device.lists), "");
  EXPECT_EQ(wrong_with_lists(engine, Program(), operands, lists, lists.lists), "");
}

TEST_F(Spans, AReplayReadsTheListsAnew) {
  Engine engine(uncached_options());
  const Stream stream;
  const cases::Extents extents = cases::square(1, 2, 500, 64);
  RandomLists lists(extents, {.q_block = 64, .kv_block = 64, .seed = 21});
  const ListsOnDevice on_device(lists);
  const cases::Operands operands = cases::random_operands(extents, DType::kBF16, 22);
  const cases::Results results = cases::results_for(operands.inputs());
  const DeviceCall call(cases::causal(), operands, results);
  const CallOptions options{
      .scale = {}, .block_lists = &on_device.lists, .stream = stream.handle()};
  engine.attention(call.program(), call.inputs(), call.outputs(), options);
  const Graph graph(
      stream, [&] { engine.attention(call.program(), call.inputs(), call.outputs(), options); });
  for (const std::uint32_t seed : {31U, 32U}) {
    std::mt19937 random(seed);
    RandomLists::fill(lists.counts, lists.indices, 8, random);
    stream.synchronise();
    on_device.counts.upload();
    on_device.indices.upload();
    call.poison();
    graph.replay(stream);
    stream.synchronise();
    ASSERT_EQ(call.download(), "");
    const cases::Reference reference = cases::reference_of(
        cases::causal(), operands.inputs(), {.scale = {}, .block_lists = &lists.lists});
    EXPECT_EQ(cases::mismatch(results, reference, DType::kBF16), "");
  }
}

TEST_F(Spans, AMaskMapGivesWhatTheCallFindsItself) {
  Engine engine(uncached_options());
  const std::int64_t length = 700;
  cases::Tensor table(DType::kI32, {length});
  table.fill([](const Dims& at) { return static_cast<double>(at[0] / 150); });
  const Capture document("doc", table);
  const Program documents = trace([document](Index, Index, Index q, Index kv) {
    return Index(document[q]) == Index(document[kv]) && q >= kv;
  });
  const cases::Operands operands =
      cases::random_operands(cases::square(2, 3, length, 128), DType::kBF16, 40);
  for (const std::int64_t q_block : {16, 128, 200}) {
    const MaskMap map =
        MaskMap::build(documents, {.q_len = length, .kv_len = length, .q_block = q_block});
    EXPECT_EQ(wrong(engine, documents, operands, {}, {.scale = {}, .mask_map = &map}), "")
        << q_block;
  }
}

TEST_F(Spans, ACapturedCallKeepsTheSpansOfAMapThatIsGone) {
  Engine engine(uncached_options());
  const Stream stream;
  const std::int64_t length = 3000;
  const cases::Operands operands =
      cases::random_operands(cases::square(1, 1, length, 64), DType::kBF16, 41);
  const cases::Results results = cases::results_for(operands.inputs());
  const DeviceCall call(cases::causal(), operands, results);
  std::unique_ptr<Graph> graph;
  {
    const MaskMap map =
        MaskMap::build(cases::causal(), {.q_len = length, .kv_len = length, .q_block = 1});
    const CallOptions options{.scale = {}, .mask_map = &map, .stream = stream.handle()};
    engine.attention(call.program(), call.inputs(), call.outputs(), options);
    graph = std::make_unique<Graph>(
        stream, [&] { engine.attention(call.program(), call.inputs(), call.outputs(), options); });
  }
  stream.synchronise();
  call.poison();
  graph->replay(stream);
  stream.synchronise();
  ASSERT_EQ(call.download(), "");
  EXPECT_EQ(cases::mismatch(results, cases::causal(), operands.inputs()), "");
}

}  // namespace
}  // namespace tilewright::device_tests
