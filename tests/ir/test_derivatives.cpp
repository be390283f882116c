#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/interpret.h"
#include "ir/op.h"
#include "ir/text.h"

namespace tilewright::ir {
namespace {

using Point = std::array<double, 3>;

std::vector<std::string> parts_of(std::string_view derivatives) {
  std::vector<std::string> parts(1);
  for (const char c : derivatives) {
    if (c == ';')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

/// A row over the numbers a, b, c. Truth operands are comparisons of their number with 0.
struct RowGraph {
  Graph graph;
  std::map<std::string, NodeId, std::less<>> names;

  RowGraph(const OpRow& op_row, const Point& point) {
    std::vector<NodeId> operands;
    for (std::size_t i = 0; i < op_row.written_operands(); ++i) {
      const std::string name(1, static_cast<char>('a' + i));
      NodeId node =
          graph.number({.name = name, .type = Type::kFloat}, {.real = point[i], .integer = 0});
      if (op_row.signature[i] == 'b')
        node = graph.apply(Op::flt, std::array{graph.literal(0.0), node});
      operands.push_back(node);
      names[name] = node;
    }
    names["y"] = graph.apply(op_row.op, operands);
  }

  double value(NodeId root) {
    const auto [program, bindings] =
        graph.finish({.score = graph.promote(root, Type::kFloat), .mask = std::nullopt});
    return Interpreter(program, bindings).score(0, {});
  }
};

double value_at(const OpRow& op_row, const Point& point) {
  RowGraph row_graph(op_row, point);
  return row_graph.value(row_graph.names.at("y"));
}

double derivative_at(const OpRow& op_row, std::size_t operand, const Point& point) {
  RowGraph row_graph(op_row, point);
  const std::string text = parts_of(op_row.derivative)[operand];
  return row_graph.value(parse_expression(row_graph.graph, text, row_graph.names));
}

bool is_rounding(Op op) {
  return op == Op::round_f32 || op == Op::round_f16 || op == Op::round_bf16;
}

class Derivative : public testing::TestWithParam<std::size_t> {};

/// No point lies on a kink of any row, and no two operands are equal.
std::vector<Point> points() {
  std::vector<Point> all;
  for (const double a : {-1.7, -0.6, 0.3, 1.2, 2.71})
    for (const double b : {-1.3, 0.47, 0.95, 2.1})
      for (const double c : {0.83, 1.61}) all.push_back({a, b, c});
  return all;
}

void compare_with_differences(const OpRow& op_row, std::size_t operand) {
  constexpr double kStep = 1e-6;
  int compared = 0;
  for (const Point& point : points()) {
    Point below = point;
    Point above = point;
    below[operand] -= kStep;
    above[operand] += kStep;
    const double difference = (value_at(op_row, above) - value_at(op_row, below)) / (2 * kStep);
    if (!std::isfinite(difference)) continue;  // outside the domain of log, sqrt, pow
    const double exact = derivative_at(op_row, operand, point);
    EXPECT_NEAR(exact, difference, 1e-6 * std::max(1.0, std::abs(exact)))
        << op_row.id << " operand " << operand << " at " << point[0] << ", " << point[1] << ", "
        << point[2];
    ++compared;
  }
  EXPECT_GE(compared, 16) << op_row.id;
}

TEST_P(Derivative, AgreesWithFiniteDifferences) {
  const OpRow& op_row = op_rows()[GetParam()];
  const std::vector<std::string> parts = parts_of(op_row.derivative);
  ASSERT_EQ(parts.size(), op_row.written_operands());
  for (std::size_t operand = 0; operand < parts.size(); ++operand) {
    if (op_row.signature[operand] != 'f') {
      EXPECT_EQ(parts[operand].find_first_not_of(' '), std::string::npos);
      continue;
    }
    // Rounding is a step function whose derivative is, by its row, that of the identity.
    if (is_rounding(op_row.op))
      EXPECT_EQ(derivative_at(op_row, operand, {0.3, 0, 0}), 1);
    else
      compare_with_differences(op_row, operand);
  }
}

std::vector<std::size_t> differentiable_rows() {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < op_rows().size(); ++i)
    if (!op_rows()[i].derivative.empty()) rows.push_back(i);
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Row, Derivative, testing::ValuesIn(differentiable_rows()),
                         [](const auto& test) { return std::string(op_rows()[test.param].id); });

TEST(DerivativeTable, EveryFloatRowOfFloatsIsDifferentiable) {
  for (const OpRow& op_row : op_rows()) {
    const bool has_float = op_row.signature.find('f') != std::string_view::npos;
    EXPECT_EQ(!op_row.derivative.empty(), op_row.result == Type::kFloat && has_float) << op_row.id;
  }
}

struct Kink {
  Op op;
  std::size_t operand;
  Point point;
  double expected;
};

TEST(DerivativeTable, KinksFollowTheSemantics) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Kink> kinks{
      {Op::fclamp, 0, {-1, -1, 1}, 1},   {Op::fclamp, 0, {1, -1, 1}, 1},
      {Op::fclamp, 0, {-1.5, -1, 1}, 0}, {Op::fclamp, 0, {1.5, -1, 1}, 0},
      {Op::fclamp, 1, {-1, -1, 1}, 0},   {Op::fclamp, 1, {-1.5, -1, 1}, 1},
      {Op::fclamp, 2, {1, -1, 1}, 0},    {Op::fclamp, 2, {1.5, -1, 1}, 1},
      {Op::fmin, 0, {2, 2, 0}, 0.5},     {Op::fmin, 1, {2, 2, 0}, 0.5},
      {Op::fmax, 0, {2, 2, 0}, 0.5},     {Op::fmax, 1, {2, 2, 0}, 0.5},
      {Op::fabs, 0, {0, 0, 0}, 0},       {Op::relu, 0, {0, 0, 0}, 0},
      {Op::sqrt, 0, {0, 0, 0}, 0},       {Op::ffloor, 0, {2, 0, 0}, 0},
      {Op::fceil, 0, {2, 0, 0}, 0},      {Op::fround, 0, {2.5, 0, 0}, 0},
      {Op::fsign, 0, {0, 0, 0}, 0},      {Op::ftrunc, 0, {2, 0, 0}, 0},
      {Op::pow, 0, {0, 1, 0}, 1},        {Op::pow, 0, {0, 2, 0}, 0},
      {Op::pow, 0, {0, 0, 0}, 0},        {Op::pow, 0, {nan, 0, 0}, 0},
      {Op::pow, 1, {0, 2, 0}, 0},        {Op::pow, 1, {-2, 2, 0}, 0},
      {Op::pow, 0, {-3, 2, 0}, -6},      {Op::fselect, 1, {1, nan, 5}, 1},
      {Op::fselect, 2, {1, 5, nan}, 0},  {Op::fselect, 1, {0, nan, 5}, 0}};
  for (const Kink& kink : kinks)
    EXPECT_EQ(derivative_at(row(kink.op), kink.operand, kink.point), kink.expected)
        << row(kink.op).id << " operand " << kink.operand << " at " << kink.point[0];
}

}  // namespace
}  // namespace tilewright::ir
