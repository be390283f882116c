// The walk of the bf16 kernels: P and dS in bf16, transposed before the products of the keys.

#include <gtest/gtest.h>

#include "backends/cpu/backward_kernel.h"
#include "backends/cpu/gradient_interpreter.h"
#include "backends/cpu/turn_tile.h"
#include "gradient/narrow_kernel.h"
#include "ir/program.h"
#include "support/backward.h"
#include "support/every_subscript.h"
#include "support/targets.h"

namespace tilewright::cases {
namespace {

TEST(TurnTile, TransposesAndPads) {
  constexpr std::int64_t kRows = 21, kCols = 48, kStride = 64, kPadded = 32;
  std::vector<std::uint16_t> tile(kRows * kStride, 0xffff);
  for (std::int64_t r = 0; r < kRows; ++r)
    for (std::int64_t c = 0; c < kCols; ++c)
      tile[static_cast<std::size_t>(r * kStride + c)] = static_cast<std::uint16_t>(100 * r + c);
  std::vector<std::uint16_t> turned(kCols * kPadded, 0xffff);
  cpu::turn_tile({.elements = tile.data(), .stride = kStride, .rows = kRows, .cols = kCols},
                 kPadded, turned.data(), kPadded);
  for (std::int64_t c = 0; c < kCols; ++c)
    for (std::int64_t r = 0; r < kPadded; ++r)
      EXPECT_EQ(turned[static_cast<std::size_t>(c * kPadded + r)], r < kRows ? 100 * r + c : 0)
          << r << ", " << c;
}

/// A backward through the kernel of plain loops, its pass interpreted.
Gradients narrow_gradients(const Program& program, const TrainingStep& step) {
  const cpu::MicroKernel kernel = narrow_kernel();
  ir::DerivativeRequest request;
  for (const ir::CaptureSlot& slot : program.structure().captures())
    request.captures.push_back(is_floating(slot.dtype));
  const ir::Derivative derivative = ir::differentiate(program.structure(), request);
  cpu::PassVariant variant;
  variant.prob = cpu::ProbType::kBF16;
  const cpu::CpuBackwardKernel backward(std::make_shared<cpu::CpuServices>(3), kernel,
                                        cpu::interpret_gradient_pass(derivative, variant),
                                        derivative);
  const Gradients gradients = gradients_for(step, program);
  const BackwardInputs inputs = step.inputs();
  const BackwardOutputs outputs = gradients.outputs();
  const Problem problem = problem_of(step.operands.inputs());
  const plan::Plan plan;
  const HostServices host;
  backward.launch_backward({.program = program,
                            .problem = problem,
                            .plan = plan,
                            .derivative = derivative,
                            .inputs = inputs,
                            .outputs = outputs,
                            .map = nullptr,
                            .lists = nullptr,
                            .host = host});
  return gradients;
}

TEST(NarrowProducts, AgreeWithTheMeaning) {
  Extents extents = square(2, 2, 77, 20);
  extents.kv_heads = 1;
  extents.kv_len = 300;
  extents.value_dim = 36;
  EntryContext context(extents, 61);
  const Program bare = trace([](Index, Index h, Index q, Index kv) { return kv <= 3 * q + h; });
  for (const Program& program : {bare, every_subscript(context)}) {
    TrainingStep step = step_of(random_operands(extents, DType::kBF16, 62), 63);
    engine_on({.backend = "reference", .cpu_isa = {}})
        .attention(program, step.operands.inputs(), step.results.outputs());
    EXPECT_EQ(mismatch(narrow_gradients(program, step), gradient_reference_of(program, step),
                       DType::kBF16),
              "");
  }
}

}  // namespace
}  // namespace tilewright::cases
