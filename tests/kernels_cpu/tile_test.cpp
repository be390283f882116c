// score_tile and output_tile of every micro-kernel against plain fp64 loops, over random shapes and
// layouts. NaN stands behind every operand and inside every buffer that a kernel must not read.

#include <algorithm>
#include <cmath>

#include "kernel_case.h"

namespace tilewright::cpu::test {
namespace {

class TileTest : public KernelTest {};

struct Problem {
  std::int64_t rows;
  std::int64_t kv;
  std::int64_t head_dim;
  Layout first_layout;
  Layout second_layout;
  Data data;
};

// Small shapes are the interesting ones; a few reach the limits of the contract.
Problem random_problem(Random& random, Data data) {
  const bool large = pick(random, 0, 7) == 0;
  return {.rows = pick(random, 0, large ? 97 : 40),
          .kv = pick(random, 0, large ? 260 : 70),
          .head_dim = large ? pick(random, 300, kMaxHeadDim) : pick(random, 1, 130),
          .first_layout = static_cast<Layout>(pick(random, 0, kLayouts - 1)),
          .second_layout = static_cast<Layout>(pick(random, 0, kLayouts - 1)),
          .data = data};
}

std::string text(const Problem& p) {
  return "rows " + std::to_string(p.rows) + ", kv " + std::to_string(p.kv) + ", head dim " +
         std::to_string(p.head_dim) + ", layouts " +
         std::to_string(static_cast<int>(p.first_layout)) + " " +
         std::to_string(static_cast<int>(p.second_layout));
}

void expect_scores(const MicroKernel& kernel, const Problem& problem, RowMajor& score,
                   const StoredMatrix& query, const StoredMatrix& key) {
  for (std::int64_t row = 0; row < problem.rows; ++row) {
    for (std::int64_t j = 0; j < problem.kv; ++j) {
      double sum = 0;
      double magnitude = 0;
      for (std::int64_t e = 0; e < problem.head_dim; ++e) {
        sum += query.at(row, e) * key.at(j, e);
        magnitude += std::abs(query.at(row, e) * key.at(j, e));
      }
      ASSERT_NEAR(score.get(row, j), sum,
                  tolerance(kernel, problem.data, problem.head_dim, magnitude))
          << "row " << row << " key " << j;
    }
    for (std::int64_t j = problem.kv; j < padded_columns(kernel, problem.kv); ++j) {
      ASSERT_EQ(score.get(row, j), 0) << "row " << row << " padding " << j;
    }
    for (std::int64_t j = padded_columns(kernel, problem.kv); j < score.stride(); ++j) {
      ASSERT_TRUE(std::isnan(score.get(row, j))) << "row " << row << " written at " << j;
    }
  }
}

void check_scores(const KernelCase& kernel_case, const Problem& problem, Random& random) {
  const MicroKernel& kernel = *kernel_case.kernel;
  const StoredMatrix query =
      random_matrix(random, kernel_case.source, {problem.rows, problem.head_dim},
                    problem.first_layout, problem.data);
  const StoredMatrix key = random_matrix(random, kernel_case.source, {problem.kv, problem.head_dim},
                                         problem.second_layout, problem.data);
  AlignedBuffer packed_query(packed_query_bytes(kernel, problem.rows, problem.head_dim));
  AlignedBuffer packed_key(packed_key_bytes(kernel, problem.kv, problem.head_dim));
  kernel.pack_query(query.view, packed_query.data());
  kernel.pack_key(key.view, packed_key.data());
  RowMajor score(kernel.accumulator, problem.rows,
                 padded_columns(kernel, problem.kv) + pick(random, 0, 9));
  kernel.score_tile({.query = packed_query.data(),
                     .key = packed_key.data(),
                     .score = score.data(),
                     .score_stride = score.stride(),
                     .rows = problem.rows,
                     .kv = problem.kv,
                     .depth = problem.head_dim});
  expect_scores(kernel, problem, score, query, key);
}

TEST_P(TileTest, ScoresAreExactOnExactData) {
  Random random(1);
  for (int i = 0; i < 150; ++i) {
    const Problem problem = random_problem(random, Data::kExact);
    SCOPED_TRACE(text(problem));
    ASSERT_NO_FATAL_FAILURE(check_scores(GetParam(), problem, random));
  }
}

TEST_P(TileTest, ScoresRoundOnceATerm) {
  Random random(2);
  for (int i = 0; i < 20; ++i) {
    const Problem problem = random_problem(random, Data::kNormal);
    SCOPED_TRACE(text(problem));
    ASSERT_NO_FATAL_FAILURE(check_scores(GetParam(), problem, random));
  }
}

// Every row count from one to past two blocks, every key count over two panels.
TEST_P(TileTest, ScoresAtEveryEdge) {
  Random random(3);
  for (std::int64_t i = 1; i <= 2 * kernel().row_multiple + 2; ++i) {
    const Problem problem{i,
                          2 * kernel().column_multiple + 1 - i % kernel().column_multiple,
                          7 + i,
                          Layout::kPaddedRows,
                          Layout::kPaddedRows,
                          Data::kExact};
    SCOPED_TRACE(text(problem));
    ASSERT_NO_FATAL_FAILURE(check_scores(GetParam(), problem, random));
  }
}

/// The state of one output_tile call; kv_begin > 0 uses the tail of the packed keys.
struct OutputCall {
  Problem problem;
  std::int64_t kv_begin;
  bool rescales;
};

struct OutputOperands {
  StoredMatrix value;
  RowMajor probability;
  RowMajor output;
  RowMajor before;
  RowMajor factor;
};

OutputOperands random_operands(const KernelCase& kernel_case, const OutputCall& call,
                               Random& random) {
  const MicroKernel& kernel = *kernel_case.kernel;
  const Problem& p = call.problem;
  const std::int64_t kv = p.kv - call.kv_begin;
  const std::int64_t read =
      (kv + kernel.depth_multiple - 1) / kernel.depth_multiple * kernel.depth_multiple;
  const std::int64_t columns = padded_columns(kernel, p.head_dim);
  OutputOperands operands{
      random_matrix(random, kernel_case.source, {p.kv, p.head_dim}, p.second_layout, p.data),
      RowMajor(kernel.compute, p.rows, read + pick(random, 0, 9)),
      RowMajor(kernel.accumulator, p.rows, columns + pick(random, 0, 9)),
      RowMajor(kernel.accumulator, p.rows, columns), RowMajor(kernel.accumulator, 1, p.rows)};
  operands.probability.set_random(random, {p.rows, read}, p.data);
  operands.before.set_random(random, {p.rows, columns}, p.data);
  operands.output.copy_from(operands.before, {p.rows, columns});
  for (std::int64_t row = 0; row < p.rows; ++row) {
    operands.factor.set(0, row, std::ldexp(1.0, static_cast<int>(pick(random, -2, 1))));
  }
  return operands;
}

void expect_output(const MicroKernel& kernel, const OutputCall& call, OutputOperands& operands) {
  const Problem& p = call.problem;
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const double factor = call.rescales ? operands.factor.get(0, row) : 1;
    for (std::int64_t c = 0; c < p.head_dim; ++c) {
      double sum = factor * operands.before.get(row, c);
      double magnitude = std::abs(sum);
      for (std::int64_t j = call.kv_begin; j < p.kv; ++j) {
        const double term =
            operands.probability.get(row, j - call.kv_begin) * operands.value.at(j, c);
        sum += term;
        magnitude += std::abs(term);
      }
      ASSERT_NEAR(operands.output.get(row, c), sum, tolerance(kernel, p.data, p.kv, magnitude))
          << "row " << row << " column " << c;
    }
    for (std::int64_t c = padded_columns(kernel, p.head_dim); c < operands.output.stride(); ++c) {
      ASSERT_TRUE(std::isnan(operands.output.get(row, c))) << "row " << row << " written at " << c;
    }
  }
}

void check_output(const KernelCase& kernel_case, const OutputCall& call, Random& random) {
  const MicroKernel& kernel = *kernel_case.kernel;
  const Problem& p = call.problem;
  OutputOperands operands = random_operands(kernel_case, call, random);
  AlignedBuffer packed_value(packed_value_bytes(kernel, p.kv, p.head_dim));
  kernel.pack_value(operands.value.view, packed_value.data());
  kernel.output_tile({.probability = operands.probability.data(),
                      .probability_stride = operands.probability.stride(),
                      .value = packed_value.data(),
                      .value_rows = p.kv,
                      .kv_begin = call.kv_begin,
                      .output = operands.output.data(),
                      .output_stride = operands.output.stride(),
                      .row_factor = call.rescales ? operands.factor.data() : nullptr,
                      .rows = p.rows,
                      .kv = p.kv - call.kv_begin,
                      .columns = p.head_dim});
  expect_output(kernel, call, operands);
}

TEST_P(TileTest, OutputsAreExactOnExactData) {
  Random random(4);
  for (int i = 0; i < 150; ++i) {
    OutputCall call{random_problem(random, Data::kExact), 0, pick(random, 0, 1) == 1};
    const std::int64_t panels =
        std::max<std::int64_t>(call.problem.kv - 1, 0) / kernel().column_multiple;
    call.kv_begin = pick(random, 0, panels) * kernel().column_multiple;
    SCOPED_TRACE(text(call.problem) + ", from key " + std::to_string(call.kv_begin));
    ASSERT_NO_FATAL_FAILURE(check_output(GetParam(), call, random));
  }
}

TEST_P(TileTest, OutputsRoundOnceATerm) {
  Random random(5);
  for (int i = 0; i < 20; ++i) {
    const OutputCall call{random_problem(random, Data::kNormal), 0, i % 2 == 0};
    SCOPED_TRACE(text(call.problem));
    ASSERT_NO_FATAL_FAILURE(check_output(GetParam(), call, random));
  }
}

TEST_P(TileTest, OutputsAtEveryEdge) {
  Random random(6);
  for (std::int64_t i = 1; i <= 2 * kernel().row_multiple + 2; ++i) {
    const Problem problem{i,
                          7 + i,
                          2 * kernel().column_multiple + 1 - i % kernel().column_multiple,
                          Layout::kPaddedRows,
                          Layout::kPaddedRows,
                          Data::kExact};
    SCOPED_TRACE(text(problem));
    ASSERT_NO_FATAL_FAILURE(check_output(GetParam(), {problem, 0, i % 2 == 0}, random));
  }
}

// A NaN in one row of Q or P spoils that row and no other (semantics R11).
TEST_P(TileTest, NaNStaysInItsRow) {
  Random random(7);
  const std::int64_t rows = 2 * kernel().row_multiple + 1;
  const std::int64_t kv = kernel().column_multiple;
  StoredMatrix query = random_matrix(random, source(), {rows, 33}, Layout::kPlain, Data::kExact);
  const StoredMatrix key = random_matrix(random, source(), {kv, 33}, Layout::kPlain, Data::kExact);
  const std::int64_t spoiled = pick(random, 0, rows - 1);
  encode(std::nan(""), source(), query.bytes.data() + spoiled * 33 * bytes_of(source()));
  AlignedBuffer packed_query(packed_query_bytes(kernel(), rows, 33));
  AlignedBuffer packed_key(packed_key_bytes(kernel(), kv, 33));
  kernel().pack_query(query.view, packed_query.data());
  kernel().pack_key(key.view, packed_key.data());
  RowMajor score(kernel().accumulator, rows, kv);
  kernel().score_tile({packed_query.data(), packed_key.data(), score.data(), kv, rows, kv, 33});
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t j = 0; j < kv; ++j) {
      ASSERT_EQ(std::isnan(score.get(row, j)), row == spoiled) << "row " << row << " key " << j;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryRow, TileTest, testing::ValuesIn(kernel_cases()), case_name);

}  // namespace
}  // namespace tilewright::cpu::test
