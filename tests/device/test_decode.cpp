#include <tuple>

#include "device/cuda_graph.h"
#include "device/gpu_fixture.h"
#include "engine/calls.h"

// Few query rows and many keys on a GPU: packed groups, split keys, the join.
namespace tilewright::device_tests {
namespace {

cases::Extents decode(std::int64_t q_len, std::int64_t kv_len, std::int64_t group,
                      std::int64_t dim) {
  return {.batch = 2,
          .kv_batch = 2,
          .query_heads = 2 * group,
          .kv_heads = 2,
          .q_len = q_len,
          .kv_len = kv_len,
          .head_dim = dim,
          .value_dim = dim};
}

/// The last query row sees the last key.
Program causal_at_the_end(std::int64_t shift) {
  return trace([shift](Index, Index, Index q, Index kv) { return kv <= q + Number(shift); });
}

Program biased_by_head() {
  return trace([](Score s, Index, Index h, Index q, Index kv) {
    return s + (kv - q) * (h + 1) * Number(0.001);
  });
}

class Decode : public GpuTest {};

/// A head dim and a program: each pair has kernels of its own.
class DecodeSizes : public Decode,
                    public ::testing::WithParamInterface<std::tuple<std::int64_t, int>> {
 protected:
  static Program program(std::int64_t q_len, std::int64_t kv_len) {
    const int which = std::get<1>(GetParam());
    if (which == 0) return Program();
    return which == 1 ? causal_at_the_end(kv_len - q_len) : biased_by_head();
  }
};

TEST_P(DecodeSizes, MeetTheTolerance) {
  Engine engine(uncached_options());
  const std::int64_t dim = std::get<0>(GetParam());
  std::uint64_t seed = 50;
  for (const auto& [q_len, group] :
       {std::pair<std::int64_t, std::int64_t>{1, 1}, {1, 8}, {3, 4}, {16, 1}, {7, 5}})
    for (const std::int64_t kv_len : {600, 5000}) {
      const cases::Extents extents = decode(q_len, kv_len, group, dim);
      const DType dtype = seed % 3 == 0 ? DType::kF16 : seed % 7 == 0 ? DType::kF32 : DType::kBF16;
      const cases::Operands operands = cases::random_operands(extents, dtype, ++seed);
      const cases::Results results = cases::results_for(operands.inputs());
      const DeviceCall call(program(q_len, kv_len), operands, results);
      const CallReport report = engine.attention(call.program(), call.inputs(), call.outputs());
      EXPECT_TRUE(report.kernel.ends_with("_pack_split")) << report.kernel;
      EXPECT_EQ(call.download(), "");
      EXPECT_EQ(cases::mismatch(results, program(q_len, kv_len), operands.inputs()), "")
          << "Q " << q_len << ", group " << group << ", KV " << kv_len;
    }
}

INSTANTIATE_TEST_SUITE_P(Decode, DecodeSizes,
                         ::testing::Combine(::testing::Values(64, 128, 256, 40),
                                            ::testing::Values(0, 1, 2)));

TEST_F(Decode, RowsWithoutLiveKeysAndOtherLayouts) {
  Engine engine(uncached_options());
  const cases::Extents extents = decode(4, 2000, 3, 72);
  const Program none_for_row_1 =
      trace([](Index, Index, Index q, Index kv) { return q != Number(1) && kv < q * Number(700); });
  for (const cases::Layout layout : {cases::Layout::kContiguous, cases::Layout::kTransposed}) {
    const cases::Operands operands = cases::random_operands(extents, DType::kBF16, 70, layout);
    EXPECT_EQ(wrong(engine, none_for_row_1, operands, {.out_dtype = DType::kF32}), "");
    EXPECT_EQ(wrong(engine, none_for_row_1, operands, {.out_dtype = {}, .max_scores = false}), "");
  }
}

TEST_F(Decode, TheBitsOfARowDependNeitherOnTheBatchNorOnTheOtherRows) {
  Engine engine(uncached_options());
  const cases::Extents both = decode(1, 5000, 4, 128);
  const cases::Operands operands = cases::random_operands(both, DType::kBF16, 80);
  const cases::Results results = cases::results_for(operands.inputs());
  const DeviceCall call(Program(), operands, results);
  engine.attention(call.program(), call.inputs(), call.outputs());
  ASSERT_EQ(call.download(), "");

  const auto first = [](TensorView view) {
    view.shape[0] = 1;
    return view;
  };
  ForwardInputs inputs = call.inputs();
  inputs = {first(inputs.query), first(inputs.key), first(inputs.value)};
  ForwardOutputs outputs = call.outputs();
  outputs.out = first(outputs.out);
  outputs.lse = first(*outputs.lse);
  outputs.max_scores = first(*outputs.max_scores);
  const std::size_t bytes = results.out.bytes().size() / 2;
  const std::vector<std::byte> of_both(results.out.bytes().begin(),
                                       results.out.bytes().begin() + static_cast<long>(bytes));
  call.poison();
  engine.attention(call.program(), inputs, outputs);
  ASSERT_EQ(call.download(), "");
  EXPECT_TRUE(std::equal(of_both.begin(), of_both.end(), results.out.bytes().begin()));
}

TEST_F(Decode, CapturesIntoAGraph) {
  Engine engine(uncached_options());
  const Stream stream;
  const cases::Operands operands = cases::random_operands(decode(2, 9000, 2, 64), DType::kBF16, 90);
  const cases::Results results = cases::results_for(operands.inputs());
  const DeviceCall call(causal_at_the_end(8998), operands, results);
  const CallOptions options{.scale = {}, .stream = stream.handle()};
  engine.attention(call.program(), call.inputs(), call.outputs(), options);
  const Graph graph(
      stream, [&] { engine.attention(call.program(), call.inputs(), call.outputs(), options); });
  stream.synchronise();
  call.poison();
  graph.replay(stream);
  stream.synchronise();
  ASSERT_EQ(call.download(), "");
  EXPECT_EQ(cases::mismatch(results, causal_at_the_end(8998), operands.inputs()), "");
}

}  // namespace
}  // namespace tilewright::device_tests
