// Every gradient of every entry of the table beside central differences of the fp64 forward.

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/element.h"
#include "ir/program.h"
#include "support/backward.h"
#include "support/entry.h"
#include "support/targets.h"

namespace tilewright::cases {
namespace {

constexpr double kTolerance = 1e-6;
constexpr int kProbes = 5;

/// sum out * d_out + sum lse * d_lse, by the fp64 meaning.
double loss(const Program& program, const TrainingStep& step) {
  const Reference reference = reference_of(program, step.operands.inputs());
  double sum = 0;
  for_each_index(reference.out.shape(),
                 [&](const Dims& at) { sum += reference.out.at(at) * step.d_out.at(at); });
  for_each_index(reference.lse.shape(), [&](const Dims& at) {
    if (std::isfinite(reference.lse.at(at))) sum += reference.lse.at(at) * step.d_lse->at(at);
  });
  return sum;
}

/// A tensor's element, changed for a while.
class Nudge {
 public:
  Nudge(const TensorView& view, const Dims& index)
      : view_(view), offset_(offset_of(view, index)), before_(read_real(view, offset_)) {}
  ~Nudge() { write_real(view_, offset_, before_); }
  /// Returns what the element holds now.
  double by(double step) {
    write_real(view_, offset_, before_ + step);
    return read_real(view_, offset_);
  }

 private:
  TensorView view_;
  std::int64_t offset_;
  double before_;
};

double difference(const Program& program, const TrainingStep& step, const TensorView& view,
                  const Dims& index, double size) {
  Nudge nudge(view, index);
  const double high = nudge.by(size);
  const double above = loss(program, step);
  const double low = nudge.by(-size);
  return (above - loss(program, step)) / (high - low);
}

/// Two Richardson steps on central differences whose sizes every dtype holds exactly.
double extrapolated(const Program& program, const TrainingStep& step, const TensorView& view,
                    const Dims& index) {
  const auto at = [&](double size) { return difference(program, step, view, index, size); };
  const double d0 = at(0x1p-8), d1 = at(0x1p-9), d2 = at(0x1p-10);
  const double e0 = (4 * d1 - d0) / 3, e1 = (4 * d2 - d1) / 3;
  return (16 * e1 - e0) / 15;
}

Dims random_index(Random& random, const Dims& shape) {
  Dims index;
  for (std::int64_t extent : shape) index.push_back(random.between(0, extent - 1));
  return index;
}

struct Probe {
  const Program& program;
  const TrainingStep& step;
  Random& random;

  void compare(const std::string& name, const TensorView& value, const TensorView& gradient) {
    double largest = 1;
    for_each_index(gradient.shape, [&](const Dims& at) {
      largest = std::max(largest, std::abs(Tensor::value_at(gradient, at)));
    });
    for (int i = 0; i < kProbes && element_count(value.shape) > 0; ++i) {
      const Dims at = random_index(random, value.shape);
      const double expected = extrapolated(program, step, value, at);
      EXPECT_NEAR(Tensor::value_at(gradient, at), expected, kTolerance * largest)
          << name << to_string(at);
    }
  }
};

class FiniteDifferences : public testing::TestWithParam<std::size_t> {};

void check_on(const Target& target, const Entry& entry) {
  Extents extents = square(2, 4, 12, 5);
  extents.kv_heads = 2;
  extents.value_dim = 3;
  EntryContext context(extents, seed_of(entry.name));
  const Program program = entry.make(context);
  TrainingStep step = step_of(random_operands(extents, DType::kF64, 7), 11, {.d_lse = true});
  const Gradients gradients = train(engine_on(target), program, step);
  Random random(13);
  Probe probe{program, step, random};
  probe.compare("query", step.operands.query, gradients.d_query);
  probe.compare("key", step.operands.key, gradients.d_key);
  probe.compare("value", step.operands.value, gradients.d_value);
  const auto slots = program.structure().captures();
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    // Differences of narrower captures are differences of rounded values.
    const bool exact = slots[slot].dtype == DType::kF32 || slots[slot].dtype == DType::kF64;
    if (!exact) continue;
    probe.compare(slots[slot].name, program.bindings().captures[slot],
                  copy_as(gradients.captures.at(slots[slot].name), DType::kF64));
  }
}

TEST_P(FiniteDifferences, OfTheMeaning) {
  check_on({.backend = "reference", .cpu_isa = {}}, entries()[GetParam()]);
}

TEST_P(FiniteDifferences, OfTheCpu) {
  for (const Target& target : available_targets())
    if (target.backend == "cpu") check_on(target, entries()[GetParam()]);
}

INSTANTIATE_TEST_SUITE_P(Entry, FiniteDifferences, testing::Range<std::size_t>(0, entries().size()),
                         [](const auto& test) { return entries()[test.param].name; });

}  // namespace
}  // namespace tilewright::cases
