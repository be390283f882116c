#include <cmath>
#include <tuple>

#include "device/cuda_graph.h"
#include "device/gpu_fixture.h"
#include "engine/calls.h"
#include "tilewright/mask_map.h"

// Key lengths that only the device knows, against the reference with the lengths in its mask; what
// lies behind a length is NaN on the device.
namespace tilewright::device_tests {
namespace {

/// The program's mask, where it has one, among the keys that a batch has.
Program within(const cases::Tensor& lengths, int which) {
  const Capture keys("keys", lengths);
  if (which == 0)
    return trace([keys](Index b, Index, Index, Index kv) { return kv < Index(keys[b]); });
  return trace(
      [keys](Index b, Index, Index q, Index kv) { return kv < Index(keys[b]) && q + 500 >= kv; });
}

Program without_lengths(int which) {
  if (which == 0) return {};
  return trace([](Index, Index, Index q, Index kv) { return q + 500 >= kv; });
}

void spoil_dead_keys(const cases::Operands& operands, const cases::Tensor& lengths) {
  for (cases::Tensor tensor : {operands.key, operands.value})
    cases::for_each_index(tensor.shape(), [&](const Dims& at) {
      if (static_cast<double>(at[2]) >= lengths.at({at[0]})) tensor.set(at, std::nan(""));
    });
}

void set_lengths(cases::Tensor& lengths, const std::vector<int>& values) {
  lengths.fill([&](const Dims& at) { return values[static_cast<std::size_t>(at[0])]; });
}

class KeyLengths : public GpuTest {};

/// A head dim, a program, a dtype, and how many query rows.
class KeyLengthSizes
    : public KeyLengths,
      public ::testing::WithParamInterface<std::tuple<std::int64_t, int, DType, std::int64_t>> {};

TEST_P(KeyLengthSizes, AreReadOnTheDevice) {
  Engine engine(uncached_options());
  const auto [dim, which, dtype, q_len] = GetParam();
  cases::Extents extents = cases::square(5, 4, q_len, dim);
  extents.kv_heads = 2;
  extents.kv_len = 900;
  cases::Tensor lengths(DType::kI32, {5});
  set_lengths(lengths, {0, 1, 517, 900, 128});
  const cases::Operands operands =
      cases::random_operands(extents, dtype, static_cast<std::uint64_t>(dim + q_len));
  const cases::Reference reference =
      cases::reference_of(within(lengths, which), operands.inputs(), {});
  spoil_dead_keys(operands, lengths);
  // What is told need not lie inside.
  set_lengths(lengths, {-7, 1, 517, 100000, 128});
  const DeviceCopy on_device(lengths);
  const cases::Results results = cases::results_for(operands.inputs());
  const DeviceCall call(without_lengths(which), operands, results);
  engine.attention(call.program(), call.inputs(), call.outputs(),
                   {.scale = {}, .kv_lengths = &on_device.view()});
  ASSERT_EQ(call.download(), "");
  EXPECT_EQ(cases::mismatch(results, reference, dtype), "");
}

INSTANTIATE_TEST_SUITE_P(KeyLengths, KeyLengthSizes,
                         ::testing::Combine(::testing::Values(64, 128, 200),
                                            ::testing::Values(0, 1),
                                            ::testing::Values(DType::kBF16, DType::kF32),
                                            ::testing::Values(3, 420)));

TEST_F(KeyLengths, HopperRowsServeThem) {
  if (machine().gpus.front()->facts().capability() != 90) GTEST_SKIP() << "no Hopper device";
  EngineOptions options = uncached_options();
  options.require_fast = true;
  Engine engine(options);
  const cases::Operands operands =
      cases::random_operands(cases::square(2, 4, 700, 128), DType::kBF16, 3);
  cases::Tensor lengths(DType::kI32, {2});
  set_lengths(lengths, {700, 3});
  const DeviceCopy on_device(lengths);
  const cases::Results results = cases::results_for(operands.inputs());
  const DeviceCall call(Program(), operands, results);
  const CallReport report = engine.attention(call.program(), call.inputs(), call.outputs(),
                                             {.scale = {}, .kv_lengths = &on_device.view()});
  EXPECT_TRUE(report.kernel.starts_with("cuda/hopper")) << report.kernel;
  EXPECT_TRUE(report.kernel.ends_with("_lengths")) << report.kernel;
}

TEST_F(KeyLengths, CutTheSpansOfAMapToo) {
  Engine engine(uncached_options());
  cases::Tensor lengths(DType::kI32, {2});
  set_lengths(lengths, {650, 90});
  const cases::Operands operands =
      cases::random_operands(cases::square(2, 3, 700, 128), DType::kBF16, 5);
  const cases::Reference reference = cases::reference_of(within(lengths, 1), operands.inputs(), {});
  spoil_dead_keys(operands, lengths);
  const DeviceCopy on_device(lengths);
  const cases::Results results = cases::results_for(operands.inputs());
  const DeviceCall call(without_lengths(1), operands, results);
  const MaskMap map =
      MaskMap::build(without_lengths(1), {.q_len = 700, .kv_len = 700, .q_block = 64});
  engine.attention(call.program(), call.inputs(), call.outputs(),
                   {.scale = {}, .mask_map = &map, .kv_lengths = &on_device.view()});
  ASSERT_EQ(call.download(), "");
  EXPECT_EQ(cases::mismatch(results, reference, DType::kBF16), "");
}

/// Prefill rows and decode rows: a replay sees the lengths as they are then.
TEST_F(KeyLengths, AReplayReadsThemAnew) {
  Engine engine(uncached_options());
  for (const std::int64_t q_len : {1, 300}) {
    const Stream stream;
    cases::Extents extents = cases::square(3, 4, q_len, 128);
    extents.kv_heads = 1;
    extents.kv_len = 2000;
    cases::Tensor lengths(DType::kI32, {3});
    set_lengths(lengths, {2000, 2000, 2000});
    const DeviceCopy on_device(lengths);
    const cases::Operands operands = cases::random_operands(extents, DType::kBF16, 8);
    const cases::Results results = cases::results_for(operands.inputs());
    const DeviceCall call(Program(), operands, results);
    const CallOptions options{
        .scale = {}, .kv_lengths = &on_device.view(), .stream = stream.handle()};
    engine.attention(call.program(), call.inputs(), call.outputs(), options);
    const Graph graph(
        stream, [&] { engine.attention(call.program(), call.inputs(), call.outputs(), options); });
    for (const std::vector<int>& values : {std::vector{1, 700, 1999}, {1500, 0, 256}}) {
      set_lengths(lengths, values);
      stream.synchronise();
      on_device.upload();
      call.poison();
      graph.replay(stream);
      stream.synchronise();
      ASSERT_EQ(call.download(), "");
      const cases::Reference reference =
          cases::reference_of(within(lengths, 0), operands.inputs(), {});
      EXPECT_EQ(cases::mismatch(results, reference, DType::kBF16), "") << q_len;
    }
  }
}

TEST_F(KeyLengths, OfTheWrongShapeDtypeOrDeviceAreRefused) {
  Engine engine(uncached_options());
  const cases::Operands operands =
      cases::random_operands(cases::square(2, 1, 8, 64), DType::kBF16, 3);
  const cases::Results results = cases::results_for(operands.inputs());
  const DeviceCall call(Program(), operands, results);
  const auto refusal = [&](const TensorView& lengths) {
    return cases::error_of([&] {
             engine.attention(call.program(), call.inputs(), call.outputs(),
                              {.scale = {}, .kv_lengths = &lengths});
           })
        .parts()
        .where;
  };
  const cases::Tensor wide(DType::kI64, {2}), few(DType::kI32, {1}), on_host(DType::kI32, {2});
  EXPECT_EQ(refusal(DeviceCopy(wide).view()), "kv_lengths");
  EXPECT_EQ(refusal(DeviceCopy(few).view()), "kv_lengths");
  EXPECT_EQ(refusal(on_host.view()), "kv_lengths");
}

}  // namespace
}  // namespace tilewright::device_tests
