#include <tuple>

#include "device/far_tensor.h"
#include "engine/calls.h"

// Scratch memory of calls on a GPU: linear in the lengths, to 128k tokens.
namespace tilewright::device_tests {
namespace {

constexpr std::int64_t kHeads = 8;

struct Scratch {
  std::size_t forward, backward;
};

/// The most that calls of each kind took, of eight causal heads of 64: enough that no work is cut
/// into parts.
Scratch scratch_bytes(std::int64_t length, DType dtype, bool deterministic) {
  EngineOptions options;
  options.cache_dir = "none";
  options.deterministic = deterministic;
  Engine engine(options);
  const Dims rows = {1, kHeads, length, 64};
  const FarTensor query(dtype, rows), key(dtype, rows), value(dtype, rows), out(dtype, rows),
      d_out(dtype, rows), d_query(dtype, rows), d_key(dtype, rows), d_value(dtype, rows),
      lse(DType::kF32, {1, kHeads, length});
  engine.attention(cases::causal(), {query.view(), key.view(), value.view()},
                   {.out = out.view(), .lse = lse.view()});
  Scratch scratch{.forward = engine.stats().workspace_bytes_peak, .backward = 0};
  engine.attention_backward(
      cases::causal(),
      {query.view(), key.view(), value.view(), out.view(), lse.view(), d_out.view(), {}},
      {.d_query = d_query.view(),
       .d_key = d_key.view(),
       .d_value = d_value.view(),
       .captures = {}});
  scratch.backward = engine.stats().workspace_bytes_peak;
  return scratch;
}

class DeviceWorkspace : public GpuTest,
                        public ::testing::WithParamInterface<std::tuple<DType, bool>> {};

TEST_P(DeviceWorkspace, GrowsWithTheLengthsAndNotWithTheirProduct) {
  const auto [dtype, deterministic] = GetParam();
  const Scratch at_16k = scratch_bytes(16384, dtype, deterministic);
  const Scratch at_32k = scratch_bytes(32768, dtype, deterministic);
  const Scratch at_128k = scratch_bytes(131072, dtype, deterministic);
  // Rows come in whole blocks, whose height is the kernel's.
  const auto grown = [](std::size_t more, std::size_t less) {
    return static_cast<double>(more) - static_cast<double>(less);
  };
  const double for_96k = 6 * grown(at_32k.backward, at_16k.backward);
  EXPECT_NEAR(grown(at_128k.backward, at_32k.backward), for_96k, 0.01 * for_96k)
      << "the same bytes for every row";
  // The fp32 sums of dQ and a copy of dO, or dQ's sums of head dims filled up to the tile's, and
  // two statistics of a row; with turns to wait for, two words a tile.
  EXPECT_GT(at_128k.backward, 0U);
  EXPECT_LE(at_128k.backward, 131072U * kHeads * (2 * 64 + 3) * 4);
  // Forward keeps nothing of a row but where its keys are split.
  EXPECT_LE(at_128k.forward, 131072U * kHeads * 4);
}

// The Hopper rows where there are such, and the portable ones.
INSTANTIATE_TEST_SUITE_P(Families, DeviceWorkspace,
                         ::testing::Combine(::testing::Values(DType::kBF16, DType::kF32),
                                            ::testing::Bool()));

}  // namespace
}  // namespace tilewright::device_tests
