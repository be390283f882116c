#include <algorithm>
#include <random>
#include <tuple>

#include "device/cuda_graph.h"
#include "device/gpu_fixture.h"
#include "engine/calls.h"
#include "tilewright/mask_map.h"

// Block lists and mask maps on a GPU against the reference, which reads the same lists.
namespace tilewright::device_tests {
namespace {

EngineOptions quiet_options() {
  EngineOptions options;
  options.cache_dir = "none";
  return options;
}

struct ListSpec {
  std::int64_t q_block = 128;
  std::int64_t kv_block = 128;
  std::int64_t batches = 1;
  std::int64_t heads = 1;
  bool full = true;
  std::uint32_t seed = 1;
};

/// Random tiles, unsorted, some listed twice or in both lists; garbage behind each count.
struct RandomLists {
  RandomLists(const cases::Extents& extents, const ListSpec& spec)
      : counts(DType::kI32, {spec.batches, spec.heads, tiles(extents.q_len, spec.q_block)}),
        indices(DType::kI32, entries(extents, spec)),
        full_counts(DType::kI32, counts.shape()),
        full_indices(DType::kI32, indices.shape()) {
    std::mt19937 random(spec.seed);
    fill(counts, indices, tiles(extents.kv_len, spec.kv_block), random);
    fill(full_counts, full_indices, tiles(extents.kv_len, spec.kv_block), random);
    lists = {.q_len = extents.q_len,
             .kv_len = extents.kv_len,
             .q_block = spec.q_block,
             .kv_block = spec.kv_block,
             .kv_num_blocks = counts.view(),
             .kv_indices = indices.view(),
             .full_kv_num_blocks = {},
             .full_kv_indices = {}};
    if (!spec.full) return;
    lists.full_kv_num_blocks = full_counts.view();
    lists.full_kv_indices = full_indices.view();
  }

  static std::int64_t tiles(std::int64_t length, std::int64_t block) {
    return (length + block - 1) / block;
  }
  static Dims entries(const cases::Extents& extents, const ListSpec& spec) {
    return {spec.batches, spec.heads, tiles(extents.q_len, spec.q_block),
            tiles(extents.kv_len, spec.kv_block) + 2};
  }
  static void fill(const cases::Tensor& counts, const cases::Tensor& indices, std::int64_t kv_tiles,
                   std::mt19937& random) {
    auto* const count = static_cast<std::int32_t*>(counts.view().data);
    auto* const index = static_cast<std::int32_t*>(indices.view().data);
    const std::int64_t rows = element_count(counts.shape()), room = indices.shape()[3];
    for (std::int64_t row = 0; row < rows; ++row) {
      count[row] = static_cast<std::int32_t>(random() % static_cast<unsigned>(room + 1));
      for (std::int64_t n = 0; n < room; ++n)
        index[row * room + n] =
            n < count[row] ? static_cast<std::int32_t>(random() % static_cast<unsigned>(kv_tiles))
                           : -123456789;
    }
  }

  cases::Tensor counts, indices, full_counts, full_indices;
  BlockLists lists;
};

/// The same lists on the GPU.
struct ListsOnDevice {
  explicit ListsOnDevice(const RandomLists& host)
      : counts(host.counts),
        indices(host.indices),
        full_counts(host.full_counts),
        full_indices(host.full_indices),
        lists(host.lists) {
    lists.kv_num_blocks = counts.view();
    lists.kv_indices = indices.view();
    if (!lists.full_kv_num_blocks) return;
    lists.full_kv_num_blocks = full_counts.view();
    lists.full_kv_indices = full_indices.view();
  }
  DeviceCopy counts, indices, full_counts, full_indices;
  BlockLists lists;
};

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

/// A head dim and a program: each pair has kernels of its own.
class ListSizes : public Spans,
                  public ::testing::WithParamInterface<std::tuple<std::int64_t, int>> {};

TEST_P(ListSizes, AreSetsOfTiles) {
  Engine engine(quiet_options());
  const auto [dim, which] = GetParam();
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
      const cases::Operands operands =
          cases::random_operands(extents, seed % 2 == 0 ? DType::kF16 : DType::kBF16, 100 + seed);
      EXPECT_EQ(wrong_with_lists(engine, program, operands, lists, on_device.lists), "")
          << "blocks of " << q_block << " x " << kv_block;
    }
}

INSTANTIATE_TEST_SUITE_P(Spans, ListSizes,
                         ::testing::Combine(::testing::Values(64, 128, 72),
                                            ::testing::Values(0, 1, 2)));

TEST_F(Spans, ListsOfManyRunsAndListsOnTheHost) {
  Engine engine(quiet_options());
  cases::Extents extents = cases::square(1, 1, 70, 64);
  extents.kv_len = 30000;
  const RandomLists lists(extents, {.q_block = 64, .kv_block = 3, .seed = 9});
  const ListsOnDevice on_device(lists);
  const cases::Operands operands = cases::random_operands(extents, DType::kBF16, 5);
  EXPECT_EQ(wrong_with_lists(engine, Program(), operands, lists, on_device.lists), "");
  EXPECT_EQ(wrong_with_lists(engine, Program(), operands, lists, lists.lists), "");
}

TEST_F(Spans, AReplayReadsTheListsAnew) {
  Engine engine(quiet_options());
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
  Engine engine(quiet_options());
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
  Engine engine(quiet_options());
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
