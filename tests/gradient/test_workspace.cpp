// Scratch memory of backward: linear in the lengths, and no more than the query says.

#include "engine/calls.h"
#include "support/backward.h"
#include "support/every_subscript.h"

namespace tilewright::cases {
namespace {

/// The bytes that `explain` promises for all gradients of a problem.
std::int64_t promised_bytes(Engine& engine, const Program& program, const Extents& extents) {
  const Attention attention = engine.prepare(program, problem_of(extents));
  const std::string text = attention.explain("backward");
  constexpr std::string_view kWorkspace = "workspace: ";
  const std::size_t at = text.find(kWorkspace);
  if (at == std::string::npos) return -1;
  return std::stoll(text.substr(at + kWorkspace.size()));
}

EngineOptions two_threads() {
  EngineOptions options = cpu_options();
  options.threads = 2;
  return options;
}

TEST(BackwardWorkspace, CallsTakeWhatTheQuerySays) {
  Extents extents = square(2, 4, 190, 16);
  extents.kv_heads = 2;
  EntryContext context(extents, 71);
  const Program program = every_subscript(context);
  TrainingStep step = step_of(random_operands(extents, DType::kF32, 72), 73);
  Engine engine(two_threads());
  train(engine, program, step);
  EXPECT_EQ(promised_bytes(engine, program, extents),
            static_cast<std::int64_t>(engine.stats().workspace_bytes_peak));
}

TEST(BackwardWorkspace, GrowsWithTheLengthsAndNotWithTheirProduct) {
  Engine engine(two_threads());
  const auto bytes = [&](std::int64_t length) {
    return promised_bytes(engine, causal(), square(1, 1, length, 64));
  };
  const std::int64_t at_16k = bytes(16384), at_32k = bytes(32768), at_128k = bytes(131072);
  // Rows come in whole blocks, whose height is the kernel's.
  const double for_96k = 6 * static_cast<double>(at_32k - at_16k);
  EXPECT_NEAR(static_cast<double>(at_128k - at_32k), for_96k, 0.01 * for_96k)
      << "the same bytes for every row";
  // Q, its transpose, dO, its transpose and dQ: five rows of 64 fp32 values and two statistics.
  EXPECT_LE(at_128k, std::int64_t{131072} * (5 * 64 + 2) * 4 * 5 / 4);
  EXPECT_GT(at_128k, 0);
}

}  // namespace
}  // namespace tilewright::cases
