#include "backends/cpu/tile_interpreter_row.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/element.h"
#include "ir/scalar_ops.h"

namespace tilewright::ir::scalar {

namespace {

/// Operand and result columns of one row of ops.def.
template <class F>
struct Columns {
  const F* real[3];
  const Int* integer[3];
  const bool* truth[3];
  F* real_out;
  Int* integer_out;
  bool* truth_out;
};

template <char kLetter, class F>
auto operand(const Columns<F>& columns, std::size_t i, std::int64_t column) {
  if constexpr (kLetter == 'f')
    return columns.real[i][column];
  else if constexpr (kLetter == 'i')
    return columns.integer[i][column];
  else
    return columns.truth[i][column];
}

constexpr char letter(const char* signature, std::size_t i, std::size_t size) {
  return i < size ? signature[i] : '\0';
}

/// The operand that a signature names, or the first again where there is none.
template <char kLetter, char kFirst, class F>
auto operand_or_first(const Columns<F>& columns, std::size_t i, std::int64_t column) {
  if constexpr (kLetter == '\0')
    return operand<kFirst>(columns, 0, column);
  else
    return operand < kLetter == 'g' ? 'b' : kLetter > (columns, i, column);
}

/// One row of ops.def over `count` columns.
template <class F>
void evaluate_columns(Op op, const Columns<F>& columns, std::int64_t count) {
  const auto int_to_float = [](Int value) { return static_cast<F>(value); };
  (void)int_to_float;
#define TILEWRIGHT_OUT_f real_out[i] = static_cast<F>
#define TILEWRIGHT_OUT_i integer_out[i] = static_cast<Int>
#define TILEWRIGHT_OUT_b truth_out[i] = static_cast<bool>
#define TILEWRIGHT_OP(id, fn, result, signature, expression, interval, derivative, edge) \
  case Op::id: {                                                                         \
    constexpr std::size_t size = sizeof(signature) - 1;                                  \
    constexpr char first = letter(signature, 0, size);                                   \
    for (std::int64_t i = 0; i < count; ++i) {                                           \
      [[maybe_unused]] const auto a = operand<first>(columns, 0, i);                     \
      [[maybe_unused]] const auto b =                                                    \
          operand_or_first<letter(signature, 1, size), first>(columns, 1, i);            \
      [[maybe_unused]] const auto c =                                                    \
          operand_or_first<letter(signature, 2, size), first>(columns, 2, i);            \
      columns.TILEWRIGHT_OUT_##result(expression);                                       \
    }                                                                                    \
    return;                                                                              \
  }
  switch (op) {
#include "ir/ops.def"
    default:
      return;
  }
#undef TILEWRIGHT_OP
#undef TILEWRIGHT_OUT_f
#undef TILEWRIGHT_OUT_i
#undef TILEWRIGHT_OUT_b
}

}  // namespace

}  // namespace tilewright::ir::scalar

namespace tilewright::cpu {

using ir::NodeId;
using ir::Op;

namespace {

/// No element's offset.
constexpr std::int64_t kNowhere = std::numeric_limits<std::int64_t>::min();

void record(const RowChunk& chunk, const PassFault& fault) {
  if (chunk.tile->fault->node < 0) *chunk.tile->fault = fault;
}

}  // namespace

template <class F>
RowInterpreter<F>::RowInterpreter(const ir::Program& program)
    : program_(program),
      reals_(program.size() * kInterpreterColumns),
      integers_(program.size() * kInterpreterColumns),
      truths_(program.size() * kInterpreterColumns) {}

template <class F>
void RowInterpreter<F>::evaluate(const RowChunk& chunk, const std::vector<bool>& wanted,
                                 const F* scores, const bool* live) {
  for (NodeId id = 0; id < program_.size(); ++id) {
    if (!wanted[id]) continue;
    const Op op = program_.node(id).op;
    if (op == Op::kLoad) {
      load(chunk, id, live);
    } else if (ir::is_leaf(op)) {
      evaluate_leaf(chunk, id, scores);
    } else {
      if (ir::row(op).has_guard()) report_zero_divisors(chunk, id, live);
      evaluate_row(chunk, id);
    }
  }
}

template <class F>
void RowInterpreter<F>::evaluate_leaf(const RowChunk& chunk, NodeId id, const F* scores) {
  const ir::Node& node = program_.node(id);
  switch (node.op) {
    case Op::kScore:
      std::copy(scores, scores + chunk.count, &reals_[at(id)]);
      return;
    case Op::kBatch:
      return fill_integers(chunk, id, chunk.tile->b, 0);
    case Op::kHead:
      return fill_integers(chunk, id, chunk.tile->h, 0);
    case Op::kQuery:
      return fill_integers(chunk, id, chunk.q, 0);
    case Op::kKey:
      return fill_integers(chunk, id, chunk.kv, 1);
    case Op::kLiteral:
      return fill(chunk, id, std::bit_cast<double>(node.payload),
                  static_cast<std::int64_t>(node.payload));
    default: {
      const PassNumber& number = chunk.call->numbers[node.payload];
      return fill(chunk, id, number.real, number.integer);
    }
  }
}

template <class F>
void RowInterpreter<F>::fill(const RowChunk& chunk, NodeId id, double real, std::int64_t integer) {
  switch (program_.node(id).type) {
    case ir::Type::kFloat:
      std::fill_n(&reals_[at(id)], chunk.count, static_cast<F>(real));
      return;
    case ir::Type::kInt:
      return fill_integers(chunk, id, integer, 0);
    case ir::Type::kBool:
      std::fill_n(truths(id), chunk.count, integer != 0);
      return;
  }
}

template <class F>
void RowInterpreter<F>::fill_integers(const RowChunk& chunk, NodeId id, std::int64_t first,
                                      std::int64_t step) {
  std::int64_t* const to = &integers_[at(id)];
  for (std::int64_t i = 0; i < chunk.count; ++i) to[i] = first + i * step;
}

template <class F>
void RowInterpreter<F>::evaluate_row(const RowChunk& chunk, NodeId id) {
  ir::scalar::Columns<F> columns{};
  const auto operands = program_.operands(id);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    columns.real[i] = &reals_[at(operands[i])];
    columns.integer[i] = &integers_[at(operands[i])];
    columns.truth[i] = truths(operands[i]);
  }
  columns.real_out = &reals_[at(id)];
  columns.integer_out = &integers_[at(id)];
  columns.truth_out = truths(id);
  ir::scalar::evaluate_columns<F>(program_.node(id).op, columns, chunk.count);
}

template <class F>
void RowInterpreter<F>::report_zero_divisors(const RowChunk& chunk, NodeId id,
                                             const bool* live) const {
  const auto operands = program_.operands(id);
  const std::int64_t* const divisors = &integers_[at(operands[1])];
  const bool* const guard = truths(operands[2]);
  for (std::int64_t i = 0; i < chunk.count; ++i)
    if (divisors[i] == 0 && guard[i] && (live == nullptr || live[i]))
      record(chunk, {.node = id, .axis = 0, .index = 0});
}

template <class F>
void RowInterpreter<F>::load(const RowChunk& chunk, NodeId id, const bool* live) {
  const ir::Node& node = program_.node(id);
  const bool* const guard = truths(program_.operands(id).back());
  TensorView view;
  view.data = const_cast<void*>(chunk.call->captures[node.payload].data);
  view.dtype = program_.captures()[node.payload].dtype;
  for (std::int64_t i = 0; i < chunk.count; ++i) {
    const bool is_live = guard[i] && (live == nullptr || live[i]);
    const std::int64_t offset = is_live ? element_offset(chunk, id, i) : kNowhere;
    const bool is_read = offset != kNowhere;
    if (node.type == ir::Type::kFloat) {
      reals_[at(id) + i] = is_read ? static_cast<F>(read_real(view, offset)) : F(0);
      continue;
    }
    const std::int64_t value = is_read ? read_integer(view, offset) : 0;
    if (node.type == ir::Type::kBool)
      truths(id)[i] = value != 0;
    else
      integers_[at(id) + i] = value;
  }
}

template <class F>
std::int64_t RowInterpreter<F>::element_offset(const RowChunk& chunk, NodeId id,
                                               std::int64_t column) const {
  const PassCapture& capture = chunk.call->captures[program_.node(id).payload];
  const auto subscripts = program_.operands(id).first(program_.operands(id).size() - 1);
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < subscripts.size(); ++axis) {
    const std::int64_t written = integers_[at(subscripts[axis]) + column];
    const std::int64_t index = wrap_index(written, capture.extents[axis]);
    if (index < 0 || index >= capture.extents[axis]) {
      record(chunk, {.node = id, .axis = static_cast<std::int64_t>(axis), .index = written});
      return kNowhere;
    }
    offset += index * capture.strides[axis];
  }
  return offset;
}

template class RowInterpreter<float>;
template class RowInterpreter<double>;

}  // namespace tilewright::cpu
