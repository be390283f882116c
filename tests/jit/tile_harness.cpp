#include "tile_harness.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "backends/cpu/jit/score_pass_compiler.h"
#include "backends/cpu/microkernels.h"
#include "backends/cpu/tile_interpreter.h"
#include "base/half.h"

namespace tilewright::test {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kGuard = 16;  ///< elements around a tile's rows that must not change

template <class Stored>
double read(const Stored& value) {
  return static_cast<double>(value);
}
template <>
double read(const std::uint16_t& bits) {
  return bf16_to_float(bits);
}

}  // namespace

std::shared_ptr<const cpu::LoadedPass> PassMaker::make(const ir::Program& program,
                                                       const cpu::PassVariant& variant) const {
  if (!is_jit) return cpu::interpret_score_pass(program, variant);
  const analyse::StructureFacts facts = analyse::structure_facts(program);
  return cpu::jit::load_score_pass(cpu::jit::compile_score_pass(
      {.program = program, .facts = facts, .variant = variant, .isa = isa}));
}

std::vector<PassMaker> pass_makers() {
  std::vector<PassMaker> makers = {{.name = "tile interpreter"}};
  if (!cpu::jit::is_available()) return makers;
  for (const cpu::Isa isa :
       {cpu::Isa::kPortable, cpu::Isa::kAvx2, cpu::Isa::kAvx512, cpu::Isa::kAvx512Bf16})
    if (!cpu::missing_feature(isa, cpu::cpu_features()))
      makers.push_back({.name = std::string(cpu::isa_name(isa)), .is_jit = true, .isa = isa});
  return makers;
}

TileRunner::TileRunner(const ir::Bindings& bindings, const cpu::PassVariant& variant, double scale)
    : variant_(variant), scale_(scale), strides_(bindings.captures.size()) {
  for (std::size_t i = 0; i < bindings.captures.size(); ++i) {
    const TensorView& view = bindings.captures[i];
    for (std::size_t axis = 0; axis < view.rank(); ++axis)
      strides_[i].push_back(view.shape[axis] == 1 ? 0 : view.strides[axis]);
    captures_.push_back(
        {.data = view.data, .extents = view.shape.data(), .strides = strides_[i].data()});
  }
  for (const ir::NumberValue& number : bindings.numbers) numbers_.push_back({.real = number.real});
  for (std::size_t i = 0; i < numbers_.size(); ++i)
    if (bindings.numbers[i].integer != 0) numbers_[i].integer = bindings.numbers[i].integer;
}

TileResult TileRunner::run(const cpu::LoadedPass& pass, bool masked, const TilePlace& place,
                           const std::vector<double>& scores, RowState& state) {
  return variant_.is_f64 ? run_typed<double>(pass, masked, place, scores, state)
                         : run_typed<float>(pass, masked, place, scores, state);
}

namespace {

/// A matrix with kGuard elements before, between and behind its rows.
template <class Stored>
struct GuardedMatrix {
  std::int64_t rows, cols, stride;
  Stored filler;
  std::vector<Stored> elements;

  GuardedMatrix(std::int64_t row_count, std::int64_t col_count, Stored fill)
      : rows(row_count),
        cols(col_count),
        stride(col_count + kGuard),
        filler(fill),
        elements(static_cast<std::size_t>(kGuard + row_count * (col_count + kGuard)), fill) {}

  Stored* data() { return elements.data() + kGuard; }
  Stored& at(std::int64_t r, std::int64_t c) { return data()[r * stride + c]; }

  void expect_untouched() const {
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(elements.size()); ++i) {
      const std::int64_t inside = (i - kGuard) % stride;
      if (i >= kGuard && inside < cols) continue;
      ASSERT_EQ(elements[static_cast<std::size_t>(i)], filler) << "written outside, element " << i;
    }
  }
};

template <class Real>
std::vector<Real> typed(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

void take(std::vector<double>& to, const auto& from) { to.assign(from.begin(), from.end()); }

cpu::PassTile tile_at(const TilePlace& place, cpu::PassFault& fault) {
  return {.rows = place.rows,
          .col_begin = place.col_begin,
          .col_end = place.col_end,
          .prob_cols = place.cols,
          .b = place.b,
          .h = place.h,
          .q_begin = place.q_begin,
          .kv_begin = place.kv_begin,
          .fault = &fault};
}

template <class Stored>
std::vector<double> run_and_read(const std::function<void(void*, std::int64_t)>& run,
                                 const TilePlace& place) {
  GuardedMatrix<Stored> prob(place.rows, place.cols, Stored(7));
  run(prob.data(), prob.stride);
  prob.expect_untouched();
  std::vector<double> values;
  for (std::int64_t r = 0; r < place.rows; ++r)
    for (std::int64_t c = 0; c < place.cols; ++c) values.push_back(read(prob.at(r, c)));
  return values;
}

}  // namespace

template <class Real>
TileResult TileRunner::run_typed(const cpu::LoadedPass& pass, bool masked, const TilePlace& place,
                                 const std::vector<double>& scores, RowState& state) {
  GuardedMatrix<Real> score(place.rows, place.cols, Real(3));
  for (std::int64_t r = 0; r < place.rows; ++r)
    for (std::int64_t c = 0; c < place.cols; ++c)
      score.at(r, c) = static_cast<Real>(scores[static_cast<std::size_t>(r * place.cols + c)]);
  auto max = typed<Real>(state.max), shift = typed<Real>(state.shift), sum = typed<Real>(state.sum),
       alpha = typed<Real>(state.alpha);
  std::vector<char> scratch(static_cast<std::size_t>(pass.column_scratch_bytes(place.cols)) + 64);
  TileResult result;
  const cpu::PassCall call{
      .captures = captures_.data(), .numbers = numbers_.data(), .scale = scale_};
  cpu::PassTile tile = tile_at(place, result.fault);
  tile.score = score.data();
  tile.score_stride = score.stride;
  tile.row_max = max.data();
  tile.row_shift = shift.data();
  tile.row_sum = sum.data();
  tile.row_alpha = alpha.data();
  const auto address = reinterpret_cast<std::uintptr_t>(scratch.data());
  tile.column_scratch = scratch.data() + (64 - address % 64) % 64;
  GuardedMatrix<float> exact(place.rows, place.cols, 5.0F);
  const bool is_narrow = variant_.prob == cpu::ProbType::kBF16;
  const auto run = [&](void* prob, std::int64_t stride) {
    tile.prob = prob;
    tile.prob_stride = stride;
    if (is_narrow) tile.exact_prob = exact.data();
    (masked ? pass.masked : pass.full)(&call, &tile);
  };
  result.prob = variant_.prob == cpu::ProbType::kBF16  ? run_and_read<std::uint16_t>(run, place)
                : variant_.prob == cpu::ProbType::kF32 ? run_and_read<float>(run, place)
                                                       : run_and_read<double>(run, place);
  score.expect_untouched();
  exact.expect_untouched();
  for (std::int64_t r = 0; is_narrow && r < place.rows; ++r)
    for (std::int64_t c = 0; c < place.cols; ++c) result.exact_prob.push_back(exact.at(r, c));
  take(state.max, max);
  take(state.shift, shift);
  take(state.sum, sum);
  take(state.alpha, alpha);
  return result;
}

RowState empty_state(std::int64_t rows) {
  const auto count = static_cast<std::size_t>(rows);
  return {.max = std::vector<double>(count, -kInfinity),
          .shift = std::vector<double>(count, -kInfinity),
          .sum = std::vector<double>(count, 0),
          .alpha = std::vector<double>(count, 5)};
}

std::vector<double> reference_scores(const ir::Program& program, const ir::Bindings& bindings,
                                     bool masked, const TilePlace& place,
                                     const std::vector<double>& scaled) {
  ir::Interpreter interpreter(program, bindings);
  std::vector<double> t(scaled.size(), -kInfinity);
  for (std::int64_t r = 0; r < place.rows; ++r)
    for (std::int64_t c = place.col_begin; c < place.col_end; ++c) {
      const ir::Position at{
          .b = place.b, .h = place.h, .q = place.q_begin + r, .kv = place.kv_begin + c};
      const auto i = static_cast<std::size_t>(r * place.cols + c);
      if (!masked || interpreter.mask(at)) t[i] = interpreter.score(scaled[i], at);
    }
  return t;
}

std::vector<double> random_scores(std::uint64_t seed, std::int64_t count) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<int> uniform(-256, 256);
  std::vector<double> scores(static_cast<std::size_t>(count));
  for (double& score : scores) score = uniform(random) / 64.0;
  return scores;
}

}  // namespace tilewright::test
