#include "field_reports/gradient_report.h"

#include <cmath>

namespace tilewright::cases {

Gradients expect_gradients(const Program& program, TrainingStep& step, const CallOptions& options) {
  const DType dtype = step.operands.query.view().dtype;
  const GradientReference reference = gradient_reference_of(program, step, options);
  std::optional<Gradients> last;
  for (const Target& target : available_targets()) {
    last.emplace(train(engine_on(target), program, step, options));
    EXPECT_EQ(mismatch(*last, reference, dtype), "") << target.name();
  }
  return *last;
}

TrainingStep random_step(const Extents& extents, DType dtype, std::uint64_t seed,
                         const StepSpec& spec) {
  return step_of(random_operands(extents, dtype, seed), seed + 1, spec);
}

double largest(const TensorView& view) {
  double most = 0;
  for_each_index(view.shape, [&](const Dims& at) {
    const double size = std::abs(Tensor::value_at(view, at));
    most = std::isnan(most) || size <= most ? most : size;
  });
  return most;
}

}  // namespace tilewright::cases
