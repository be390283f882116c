// T16: the same bits every time.

#include <thread>

#include "field_reports/report.h"
#include "support/comparison.h"

namespace tilewright::cases {
namespace {

TEST(FieldReport, C149FiftyRunsGiveTheSameBits) {
  const Operands operands = random_operands(square(2, 2, 300, 32), DType::kBF16, 149);
  for (const Target& target : available_targets()) {
    if (target.backend == "reference") continue;
    const Results first = run_on(target, causal(), operands.inputs());
    for (int run = 1; run < 50; ++run)
      expect_same_bits(run_on(target, causal(), operands.inputs()), first);
  }
}

TEST(FieldReport, C149SameBitsUnderConcurrentLoad) {
  const Operands operands = random_operands(square(1, 2, 300, 32), DType::kBF16, 150);
  const Results first = run_on(fastest_target(), causal(), operands.inputs());
  std::vector<std::string> reasons(4);
  std::vector<std::thread> threads;
  for (std::string& reason : reasons)
    threads.emplace_back([&] {
      for (int run = 0; run < 10; ++run) {
        const Results again = run_on(fastest_target(), causal(), operands.inputs());
        reason += compare_bits(again.out, first.out).reason;
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& reason : reasons) EXPECT_EQ(reason, "");
}

TEST(FieldReport, C151NeighboursStayWithinTolerance) {
  for (const std::int64_t q_len : {1, 9, 10}) {
    const Extents extents{.batch = 64,
                          .kv_batch = 64,
                          .query_heads = 4,
                          .kv_heads = 2,
                          .q_len = q_len,
                          .kv_len = 700,
                          .head_dim = 64,
                          .value_dim = 64};
    const Operands many = random_operands(extents, DType::kF32, 151);
    const Results together = run_on(fastest_target(), Program(), many.inputs());
    const auto alone_view = [](const Tensor& t) { return slice(t, 0, 0, 1); };
    const Results alone = expect_meaning(
        Program(), {alone_view(many.query), alone_view(many.key), alone_view(many.value)});
    for_each_index(alone.out.shape(), [&](const Dims& at) {
      EXPECT_NEAR(alone.out.at(at), together.out.at(at), 1e-6);
    });
  }
}

}  // namespace
}  // namespace tilewright::cases
