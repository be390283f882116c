#include <cstring>

#include "device/cuda_graph.h"
#include "device/gpu_fixture.h"
#include "engine/calls.h"
#include "tilewright/device_mask_map.h"

// Mask maps that the device makes itself: right whatever room they have, anew in a replayed graph.
namespace tilewright::device_tests {
namespace {

constexpr std::int64_t kLength = 2000;

cases::Tensor documents(std::int64_t rows) {
  cases::Tensor table(DType::kI32, {kLength});
  table.fill([rows](const Dims& at) { return static_cast<double>(at[0] / rows); });
  return table;
}

Program by_documents(const cases::Tensor& table) {
  const Capture document("doc", table);
  return trace([document](Index, Index, Index q, Index kv) {
    return Index(document[q]) == Index(document[kv]) && q >= kv;
  });
}

/// Sinks, a window, and whole columns further on: several spans a query block.
Program striped() {
  return trace([](Index, Index h, Index q, Index kv) {
    return kv < 40 || (q >= kv && q - kv < 200) || (kv - h * 128 >= 900 && kv - h * 128 < 1100);
  });
}

/// A map in memory of its own.
struct MapInMemory {
  MapInMemory(const Program& program, const DeviceMaskMapOptions& options)
      : bytes(DType::kU8, {static_cast<std::int64_t>(DeviceMaskMap::bytes_for(program, options))}),
        memory(bytes),
        map(program, options, memory.view()) {}
  /// Of the query blocks, as the device left them.
  std::int64_t covered_keys() const {
    EXPECT_TRUE(memory.download());
    const std::byte* const at = bytes.bytes().data();
    const std::int64_t lists = map.batches() * map.heads() * map.q_blocks();
    std::int64_t keys = 0;
    for (std::int64_t list = 0; list < lists; ++list) {
      std::int64_t range[2];
      std::memcpy(range, at + 256 + list * 16, sizeof range);
      for (std::int64_t n = range[0]; n < range[1]; ++n) {
        std::int32_t span[4];
        std::memcpy(span, at + 256 + lists * 16 + n * 16, sizeof span);
        keys += span[1] - span[0];
      }
    }
    return keys;
  }
  std::uint32_t lists_cut() const {
    EXPECT_TRUE(memory.download());
    std::uint32_t count = 0;
    std::memcpy(&count, bytes.bytes().data(), sizeof count);
    return count;
  }
  cases::Tensor bytes;
  DeviceCopy memory;
  DeviceMaskMap map;
};

class DeviceMaps : public GpuTest {
 protected:
  Engine engine_{uncached_options()};

  /// One call with a map that was just made; what it got wrong, or nothing.
  std::string wrong_with_map(const Program& program, const cases::Operands& operands,
                             const DeviceMaskMapOptions& options) {
    const cases::Results results = cases::results_for(operands.inputs());
    const DeviceCall call(program, operands, results);
    const MapInMemory made(call.program(), options);
    engine_.build_mask_map(made.map, problem_from(call.inputs(), call.outputs()));
    const CallReport report = engine_.attention(call.program(), call.inputs(), call.outputs(),
                                                {.scale = {}, .device_map = &made.map});
    EXPECT_TRUE(report.kernel.ends_with("_lists")) << report.kernel;
    lists_cut_ = made.lists_cut();
    covered_keys_ = made.covered_keys();
    if (std::string outside = call.download(); !outside.empty()) return outside;
    return cases::mismatch(results, program, operands.inputs());
  }

  std::uint32_t lists_cut_ = 0;
  std::int64_t covered_keys_ = 0;
};

TEST_F(DeviceMaps, GiveWhatTheCallFindsItself) {
  const cases::Tensor table = documents(150);
  std::uint64_t seed = 11;
  for (const Program& program : {cases::causal(), by_documents(table), striped()})
    for (const DType dtype : {DType::kBF16, DType::kF32}) {
      const cases::Operands operands =
          cases::random_operands(cases::square(2, 3, kLength, 64), dtype, ++seed);
      const DeviceMaskMapOptions options{
          .batch = 2, .heads = 3, .q_len = kLength, .kv_len = kLength};
      EXPECT_EQ(wrong_with_map(program, operands, options), "");
      EXPECT_EQ(lists_cut_, 0U);
    }
}

TEST_F(DeviceMaps, SkipWhatNobodySees) {
  const cases::Operands operands =
      cases::random_operands(cases::square(1, 1, kLength, 64), DType::kBF16, 5);
  const DeviceMaskMapOptions options{.q_len = kLength, .kv_len = kLength};
  EXPECT_EQ(wrong_with_map(cases::causal(), operands, options), "");
  std::int64_t wanted = 0;
  for (std::int64_t begin = 0; begin < kLength; begin += 128)
    wanted += std::min<std::int64_t>(begin + 128, kLength);
  EXPECT_EQ(covered_keys_, wanted);
}

TEST_F(DeviceMaps, WithTooLittleRoomStayRightAndSaySo) {
  const cases::Operands operands =
      cases::random_operands(cases::square(1, 2, kLength, 64), DType::kBF16, 7);
  for (const std::int64_t room : {1, 2}) {
    const DeviceMaskMapOptions options{.batch = 1,
                                       .heads = 2,
                                       .q_len = kLength,
                                       .kv_len = kLength,
                                       .q_block = 100,
                                       .spans_per_block = room};
    EXPECT_EQ(wrong_with_map(striped(), operands, options), "") << room;
    EXPECT_GT(lists_cut_, 0U);
  }
}

/// Map and attention in one graph: both follow the table.
TEST_F(DeviceMaps, AReplayMakesTheMapAnew) {
  const Stream stream;
  const cases::Tensor table = documents(150);
  const Program program = by_documents(table);
  const cases::Operands operands =
      cases::random_operands(cases::square(1, 2, kLength, 128), DType::kBF16, 9);
  const cases::Results results = cases::results_for(operands.inputs());
  const DeviceCall call(program, operands, results);
  const MapInMemory made(call.program(), {.q_len = kLength, .kv_len = kLength});
  const Problem problem = problem_from(call.inputs(), call.outputs());
  const CallOptions options{.scale = {}, .device_map = &made.map, .stream = stream.handle()};
  const auto work = [&] {
    engine_.build_mask_map(made.map, problem, stream.handle());
    engine_.attention(call.program(), call.inputs(), call.outputs(), options);
  };
  work();
  const Graph graph(stream, work);
  for (const std::int64_t rows : {70, 900}) {
    const cases::Tensor other = documents(rows);
    call.poison();
    // The graph knows the table's address; its content changes under it.
    const cuda::Gpu& gpu = *machine().gpus.front();
    const cuda::ContextScope scope(gpu.driver(), gpu.context());
    ASSERT_EQ(gpu.driver().copy_to_device(
                  reinterpret_cast<cuda::DeviceAddress>(call.capture(0).view().data),
                  other.view().data, static_cast<std::size_t>(kLength) * 4),
              0);
    graph.replay(stream);
    stream.synchronise();
    ASSERT_EQ(call.download(), "");
    EXPECT_EQ(cases::mismatch(results, by_documents(other), operands.inputs()), "") << rows;
  }
}

TEST_F(DeviceMaps, OfAnotherCallAreRefused) {
  const cases::Operands operands =
      cases::random_operands(cases::square(1, 2, 300, 64), DType::kBF16, 7);
  const cases::Results results = cases::results_for(operands.inputs());
  const DeviceCall call(cases::causal(), operands, results);
  const auto refusal = [&](const DeviceMaskMap& map) {
    return cases::error_of([&] {
             engine_.attention(call.program(), call.inputs(), call.outputs(),
                               {.scale = {}, .device_map = &map});
           })
        .parts()
        .where;
  };
  EXPECT_EQ(refusal(MapInMemory(cases::causal(), {.q_len = 300, .kv_len = 200}).map), "kv_len");
  EXPECT_EQ(refusal(MapInMemory(striped(), {.heads = 2, .q_len = 300, .kv_len = 300}).map),
            "device_map");
}

}  // namespace
}  // namespace tilewright::device_tests
