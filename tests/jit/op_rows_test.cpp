#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/graph.h"
#include "tile_harness.h"

/// Every row of ops.def on values around its edges: in mask_mod bit for bit the interpreter's, in
/// score_mod within fp32 of it.
namespace tilewright::test {
namespace {

using ir::NodeId;
using ir::Op;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kInt64Min = std::numeric_limits<std::int64_t>::min();

const std::vector<float> kReals = {0.0F,
                                   -0.0F,
                                   1.0F,
                                   -1.0F,
                                   0.5F,
                                   -0.5F,
                                   1.5F,
                                   2.5F,
                                   -2.5F,
                                   3.14159274F,
                                   1e-40F,
                                   -1e-40F,
                                   1e-8F,
                                   6e-8F,
                                   100.3F,
                                   88.8F,
                                   -104.3F,
                                   65504.F,
                                   65520.F,
                                   3e9F,
                                   -3e9F,
                                   9.3e18F,
                                   1e30F,
                                   -1e30F,
                                   0.001F,
                                   -20.F,
                                   7.F,
                                   -7.F,
                                   2049.F,
                                   std::numeric_limits<float>::max(),
                                   std::numeric_limits<float>::infinity(),
                                   -std::numeric_limits<float>::infinity(),
                                   std::numeric_limits<float>::quiet_NaN()};

const std::vector<std::int64_t> kIntegers = {0,
                                             1,
                                             -1,
                                             2,
                                             -2,
                                             7,
                                             -7,
                                             31,
                                             32,
                                             63,
                                             64,
                                             127,
                                             128,
                                             255,
                                             -128,
                                             -129,
                                             32767,
                                             32768,
                                             2147483647,
                                             -2147483648,
                                             kInt64Max,
                                             kInt64Min,
                                             (std::int64_t{1} << 40) + 5};

const std::vector<std::int64_t> kSmallIntegers = {0,  1,  -1,  2,   -2,   3,    7,   -7,
                                                  31, 40, 100, 255, -128, -129, 1000};

/// One column of operand values for each position of a signature.
struct Operands {
  std::vector<std::vector<float>> reals = std::vector<std::vector<float>>(3);
  std::vector<std::vector<std::int64_t>> integers = std::vector<std::vector<std::int64_t>>(3);
  std::vector<std::vector<std::uint8_t>> truths = std::vector<std::vector<std::uint8_t>>(3);
  std::size_t count = 0;
};

Operands combinations(const std::vector<std::int64_t>& integers) {
  Operands operands;
  operands.count = 700;
  for (std::size_t i = 0; i < operands.count; ++i)
    for (std::size_t k = 0; k < 3; ++k) {
      const std::size_t pick = k == 0 ? i : k == 1 ? i / kReals.size() + i : i * 7 + 3;
      operands.reals[k].push_back(kReals[pick % kReals.size()]);
      operands.integers[k].push_back(
          integers[(k == 1 ? i / integers.size() + i : pick) % integers.size()]);
      operands.truths[k].push_back(static_cast<std::uint8_t>((i >> k) & 1U));
    }
  return operands;
}

/// The row applied to elements of tables at q + kv.
class RowProgram {
 public:
  RowProgram(const ir::OpRow& row, Operands& operands) : row_(row) {
    always_ = g_.literal(true);
    at_ = g_.call("add", {g_.input(Op::kQuery), g_.input(Op::kKey)}, always_);
    std::vector<NodeId> nodes;
    for (std::size_t i = 0; i < row.written_operands(); ++i)
      nodes.push_back(operand(i, row.signature[i], operands));
    if (row.has_guard())
      nodes.push_back(g_.call("ne", {nodes[1], g_.literal(std::int64_t{0})}, always_));
    result_ = g_.apply(row.op, nodes);
  }

  /// mask_mod: whether the result is the expected one, NaN included.
  NodeId equals(NodeId expected) {
    const NodeId same = g_.call("eq", {result_, expected}, always_);
    if (row_.result != ir::Type::kFloat) return same;
    const NodeId neither = g_.call(
        "bit_and", {g_.call("isnan", {result_}, always_), g_.call("isnan", {expected}, always_)},
        always_);
    return g_.call("bit_or", {same, neither}, always_);
  }

  NodeId table(const std::string& name, DType dtype, void* data, std::size_t count) {
    const Dims shape = {static_cast<std::int64_t>(count)};
    const std::uint32_t capture =
        g_.capture({.name = name, .dtype = dtype, .rank = 1}, contiguous(data, dtype, shape));
    const NodeId indices[] = {at_};
    return g_.load(capture, indices, always_);
  }

  ir::Graph& graph() { return g_; }
  NodeId result() const { return result_; }
  NodeId as_integer(NodeId truth) { return g_.promote(truth, ir::Type::kInt); }

 private:
  NodeId operand(std::size_t i, char letter, Operands& operands) {
    const std::string name = std::string(1, letter) + std::to_string(i);
    if (letter == 'f') return table(name, DType::kF32, operands.reals[i].data(), operands.count);
    if (letter == 'i') return table(name, DType::kI64, operands.integers[i].data(), operands.count);
    return table(name, DType::kBool, operands.truths[i].data(), operands.count);
  }

  const ir::OpRow& row_;
  ir::Graph g_;
  NodeId always_ = 0;
  NodeId at_ = 0;
  NodeId result_ = 0;
};

/// What the interpreter says at kv = 0, q = 0 .. count: in mask_mod's precision or in fp64.
std::vector<ir::NodeValue> expected_values(const ir::OpRow& row, Operands& operands, bool in_mask) {
  RowProgram built(row, operands);
  ir::Graph& g = built.graph();
  const NodeId always = g.literal(true);
  const NodeId integer = row.result == ir::Type::kBool ? built.as_integer(built.result()) : 0;
  ir::Roots roots;
  if (in_mask && row.result == ir::Type::kFloat)
    roots.mask = g.call("lt", {built.result(), g.literal(0.0)}, always);
  else if (in_mask)
    roots.mask = g.call(
        "lt",
        {row.result == ir::Type::kBool ? integer : built.result(), g.literal(std::int64_t{0})},
        always);
  else
    roots.score = built.result();
  const auto [program, bindings] = g.finish(roots);
  // Below mask_mod's comparison; subscripts use additions of their own, farther down.
  NodeId node = in_mask ? *program.roots().mask - 1 : *program.roots().score;
  while (program.node(node).op != row.op) --node;
  ir::Interpreter interpreter(program, bindings);
  std::vector<ir::NodeValue> values;
  for (std::size_t i = 0; i < operands.count; ++i) {
    const ir::Position at{.q = static_cast<std::int64_t>(i)};
    values.push_back(interpreter.values(0, at)[node]);
  }
  return values;
}

/// What fp32 arithmetic gives for score_mod: near a jump of a row (a floor, the edge of float's
/// range) it may lie on the other side of it than fp64, and is as right.
std::vector<float> expected_in_f32(const ir::OpRow& row, Operands& operands) {
  RowProgram built(row, operands);
  const auto [program, bindings] =
      built.graph().finish({.score = built.result(), .mask = std::nullopt});
  ir::Interpreter interpreter(program, bindings);
  std::vector<float> values;
  for (std::size_t i = 0; i < operands.count; ++i)
    values.push_back(interpreter.score_f32(0, {.q = static_cast<std::int64_t>(i)}));
  return values;
}

bool fits_int32(std::int64_t value) { return value == static_cast<std::int32_t>(value); }

void expect_mask_bits(const ir::OpRow& row, bool small) {
  Operands operands = combinations(small ? kSmallIntegers : kIntegers);
  const auto expected = expected_values(row, operands, true);
  std::vector<float> reals;
  std::vector<std::int64_t> integers;
  std::vector<std::uint8_t> truths;
  std::vector<bool> is_tested;
  for (const ir::NodeValue& value : expected) {
    reals.push_back(static_cast<float>(value.real));
    integers.push_back(value.integer);
    truths.push_back(value.truth ? 1 : 0);
    is_tested.push_back(!small || fits_int32(value.integer));
  }
  RowProgram built(row, operands);
  const NodeId known = row.result == ir::Type::kFloat
                           ? built.table("want", DType::kF32, reals.data(), reals.size())
                       : row.result == ir::Type::kInt
                           ? built.table("want", DType::kI64, integers.data(), integers.size())
                           : built.table("want", DType::kBool, truths.data(), truths.size());
  NodeId mask = 0;
  if (row.result == ir::Type::kBool) {
    const NodeId differs =
        built.graph().call("bit_xor", {built.result(), known}, built.graph().literal(true));
    mask = built.graph().call("bit_not", {differs}, built.graph().literal(true));
  } else {
    mask = built.equals(known);
  }
  const auto [program, bindings] = built.graph().finish({.score = std::nullopt, .mask = mask});
  const auto cols = static_cast<std::int64_t>((operands.count + 15) / 16 * 16);
  for (const PassMaker& maker : pass_makers()) {
    const cpu::PassVariant variant{
        .prob = cpu::ProbType::kF32, .fits_int32 = small, .checked = true};
    TileRunner runner(bindings, variant, 1.0);
    RowState state = empty_state(1);
    const auto result =
        runner.run(*maker.make(program, variant), true,
                   {.rows = 1, .cols = cols, .col_end = static_cast<std::int64_t>(operands.count)},
                   std::vector<double>(static_cast<std::size_t>(cols), 0.0), state);
    EXPECT_EQ(result.fault.node, -1) << maker.name;
    for (std::size_t i = 0; i < operands.count; ++i) {
      if (!is_tested[i]) continue;
      EXPECT_EQ(result.prob[i], 1)
          << maker.name << " " << row.id << " of reals " << operands.reals[0][i] << " "
          << operands.reals[1][i] << " " << operands.reals[2][i] << ", integers "
          << operands.integers[0][i] << " " << operands.integers[1][i] << " "
          << operands.integers[2][i] << ": expected " << expected[i].real << " or "
          << expected[i].integer << " or " << expected[i].truth;
    }
  }
}

void expect_score_values(const ir::OpRow& row) {
  Operands operands = combinations(kSmallIntegers);
  const auto expected = expected_values(row, operands, false);
  const std::vector<float> in_f32 = expected_in_f32(row, operands);
  RowProgram built(row, operands);
  const auto [program, bindings] =
      built.graph().finish({.score = built.result(), .mask = std::nullopt});
  for (const PassMaker& maker : pass_makers()) {
    const cpu::PassVariant variant{
        .prob = cpu::ProbType::kF32, .fits_int32 = true, .checked = false};
    TileRunner runner(bindings, variant, 1.0);
    const auto rows = static_cast<std::int64_t>(operands.count);
    RowState state = empty_state(rows);
    runner.run(*maker.make(program, variant), false, {.rows = rows, .cols = 16, .col_end = 1},
               std::vector<double>(static_cast<std::size_t>(rows * 16)), state);
    for (std::size_t i = 0; i < operands.count; ++i) {
      const double want = expected[i].real;
      SCOPED_TRACE(::testing::Message()
                   << maker.name << " " << row.id << " of " << operands.reals[0][i] << " "
                   << operands.reals[1][i] << " " << operands.reals[2][i] << ", integer "
                   << operands.integers[0][i]);
      if (state.max[i] == in_f32[i]) continue;
      if (want != want) {
        EXPECT_TRUE(state.sum[i] != state.sum[i]) << state.max[i];
      } else if (std::fabs(want) > std::numeric_limits<float>::max()) {
        EXPECT_EQ(state.max[i], want > 0 ? kInfinity : -kInfinity);
      } else {
        EXPECT_NEAR(state.max[i], want, 1e-6 * std::fabs(want) + 1e-37);
      }
    }
  }
}

class OpRows : public ::testing::TestWithParam<ir::OpRow> {};

TEST_P(OpRows, MaskBitsAreTheInterpreters) { expect_mask_bits(GetParam(), false); }

TEST_P(OpRows, MaskBitsAreTheInterpretersIn32Bits) { expect_mask_bits(GetParam(), true); }

TEST_P(OpRows, ScoresAreWithinF32) {
  if (GetParam().result == ir::Type::kFloat) expect_score_values(GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, OpRows, ::testing::ValuesIn(ir::op_rows()),
                         [](const auto& info) { return std::string(info.param.id); });

}  // namespace
}  // namespace tilewright::test
