// score_direct and output_direct of every row against plain fp64 loops.

#include <cmath>

#include "kernel_case.h"

namespace tilewright::cpu::test {
namespace {

class DirectTest : public KernelTest {};

struct Problem {
  std::int64_t rows;
  std::int64_t kv;
  std::int64_t head_dim;
  Layout query_layout;
  Layout key_layout;
  Data data;
};

Problem random_problem(Random& random, Data data) {
  return {
      .rows = pick(random, 0, 9),
      .kv = pick(random, 0, 70),
      .head_dim = pick(random, 0, 5) == 0 ? pick(random, 300, kMaxHeadDim) : pick(random, 1, 140),
      .query_layout = static_cast<Layout>(pick(random, 0, kLayouts - 1)),
      .key_layout = static_cast<Layout>(pick(random, 0, kLayouts - 1)),
      .data = data};
}

std::string text(const Problem& p) {
  return "rows " + std::to_string(p.rows) + ", kv " + std::to_string(p.kv) + ", head dim " +
         std::to_string(p.head_dim) + ", layouts " +
         std::to_string(static_cast<int>(p.query_layout)) + " " +
         std::to_string(static_cast<int>(p.key_layout));
}

void check_scores(const KernelCase& kernel_case, const Problem& p, Random& random) {
  const MicroKernel& kernel = *kernel_case.kernel;
  const StoredMatrix query =
      random_matrix(random, kernel_case.source, {p.rows, p.head_dim}, p.query_layout, p.data);
  const StoredMatrix key =
      random_matrix(random, kernel_case.source, {p.kv, p.head_dim}, p.key_layout, p.data);
  RowMajor score(kernel.accumulator, p.rows, p.kv + 3);
  kernel.score_direct({query.view, key.view, score.data(), score.stride()});
  for (std::int64_t row = 0; row < p.rows; ++row) {
    for (std::int64_t j = 0; j < p.kv; ++j) {
      double sum = 0;
      double magnitude = 0;
      for (std::int64_t e = 0; e < p.head_dim; ++e) {
        sum += query.at(row, e) * key.at(j, e);
        magnitude += std::abs(query.at(row, e) * key.at(j, e));
      }
      ASSERT_NEAR(score.get(row, j), sum, tolerance(kernel, p.data, p.head_dim, magnitude))
          << "row " << row << " key " << j;
    }
    for (std::int64_t j = p.kv; j < p.kv + 3; ++j) {
      ASSERT_TRUE(std::isnan(score.get(row, j))) << "row " << row << " written at " << j;
    }
  }
}

TEST_P(DirectTest, ScoresMatch) {
  Random random(11);
  for (int i = 0; i < 150; ++i) {
    const Problem problem = random_problem(random, i % 5 == 0 ? Data::kNormal : Data::kExact);
    SCOPED_TRACE(text(problem));
    ASSERT_NO_FATAL_FAILURE(check_scores(GetParam(), problem, random));
  }
}

void check_output(const KernelCase& kernel_case, const Problem& p, Random& random) {
  const MicroKernel& kernel = *kernel_case.kernel;
  const DType accumulator = kernel.accumulator;
  const bool rescales = pick(random, 0, 1) == 1;
  const StoredMatrix value =
      random_matrix(random, kernel_case.source, {p.kv, p.head_dim}, p.key_layout, p.data);
  const std::int64_t columns = padded_columns(kernel, p.head_dim);
  RowMajor probability(accumulator, p.rows, p.kv + 3);
  RowMajor output(accumulator, p.rows, columns);
  RowMajor before(accumulator, p.rows, columns);
  RowMajor factor(accumulator, 1, p.rows);
  probability.set_random(random, {p.rows, p.kv}, p.data);
  before.set_random(random, {p.rows, columns}, p.data);
  output.copy_from(before, {p.rows, columns});
  for (std::int64_t row = 0; row < p.rows; ++row) {
    factor.set(0, row, std::ldexp(1.0, static_cast<int>(pick(random, -2, 1))));
  }
  kernel.output_direct({.probability = probability.data(),
                        .probability_stride = probability.stride(),
                        .rows = p.rows,
                        .value = value.view,
                        .output = output.data(),
                        .output_stride = output.stride(),
                        .row_factor = rescales ? factor.data() : nullptr});
  for (std::int64_t row = 0; row < p.rows; ++row) {
    for (std::int64_t c = 0; c < p.head_dim; ++c) {
      double sum = (rescales ? factor.get(0, row) : 1) * before.get(row, c);
      double magnitude = std::abs(sum);
      for (std::int64_t j = 0; j < p.kv; ++j) {
        sum += probability.get(row, j) * value.at(j, c);
        magnitude += std::abs(probability.get(row, j) * value.at(j, c));
      }
      ASSERT_NEAR(output.get(row, c), sum, tolerance(kernel, p.data, p.kv, magnitude))
          << "row " << row << " column " << c;
    }
  }
}

TEST_P(DirectTest, OutputsMatch) {
  Random random(12);
  for (int i = 0; i < 150; ++i) {
    const Problem problem = random_problem(random, i % 5 == 0 ? Data::kNormal : Data::kExact);
    SCOPED_TRACE(text(problem));
    ASSERT_NO_FATAL_FAILURE(check_output(GetParam(), problem, random));
  }
}

INSTANTIATE_TEST_SUITE_P(EveryRow, DirectTest, testing::ValuesIn(kernel_cases()), case_name);

}  // namespace
}  // namespace tilewright::cpu::test
