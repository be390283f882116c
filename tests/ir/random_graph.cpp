#include "ir/random_graph.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/op.h"

namespace tilewright::tests {

namespace {

using ir::Graph;
using ir::NodeId;
using ir::Type;

const std::array<double, 14> kReals{0.0,
                                    -0.0,
                                    1.0,
                                    -1.0,
                                    2.0,
                                    -3.0,
                                    0.1,
                                    -2.5e-3,
                                    1e300,
                                    5e-324,
                                    std::numeric_limits<double>::infinity(),
                                    -std::numeric_limits<double>::infinity(),
                                    std::bit_cast<double>(std::uint64_t{0x7ff8000000000000}),
                                    std::bit_cast<double>(std::uint64_t{0xfff8000000000123})};
const std::array<std::int64_t, 10> kIntegers{0,
                                             1,
                                             -1,
                                             2,
                                             -2,
                                             7,
                                             1024,
                                             -4096,
                                             std::numeric_limits<std::int64_t>::min(),
                                             std::numeric_limits<std::int64_t>::max()};
const std::array<const char*, 9> kNames{"doc",   "q",  "t0", "a b \"c\"\n", "exp",
                                        "score", "if", "",   "mask"};

class Builder {
 public:
  explicit Builder(cases::Random& random) : random_(random) {
    for (const ir::Op op : {ir::Op::kBatch, ir::Op::kHead, ir::Op::kQuery, ir::Op::kKey})
      keep(graph_.input(op));
    for (int i = 0; i < 3; ++i) declare_capture(i);
    for (int i = 0; i < 6; ++i) add_constant();
  }

  std::pair<ir::Program, ir::Bindings> build(int operations) {
    for (int i = 0; i < operations; ++i) add_operation();
    ir::Roots roots;
    if (random_.chance(0.8)) roots.mask = any(Type::kBool);
    keep(graph_.input(ir::Op::kScore));
    for (int i = 0; i < operations; ++i) add_operation();
    if (random_.chance(0.8)) roots.score = any(Type::kFloat);
    return graph_.finish(roots);
  }

 private:
  template <class List>
  auto one_of(const List& list) {
    return list[static_cast<std::size_t>(
        random_.between(0, static_cast<std::int64_t>(list.size()) - 1))];
  }

  std::vector<NodeId>& nodes(Type type) { return nodes_[static_cast<std::size_t>(type)]; }
  void keep(NodeId id) { nodes(graph_.type(id)).push_back(id); }

  /// A node of the type; recent ones more often, so that programs get deep.
  NodeId any(Type type) {
    if (nodes(type).empty() || random_.chance(0.08)) return constant(type);
    const auto last = static_cast<std::int64_t>(nodes(type).size()) - 1;
    const std::int64_t first = random_.chance(0.5) ? std::max<std::int64_t>(0, last - 3) : 0;
    return nodes(type)[static_cast<std::size_t>(random_.between(first, last))];
  }

  NodeId constant(Type type) {
    if (type == Type::kBool) return graph_.literal(random_.chance(0.5));
    const bool slot = random_.chance(0.5);
    const std::string name = random_.chance(0.3) ? one_of(kNames) : std::string();
    if (type == Type::kInt) {
      const std::int64_t value = one_of(kIntegers);
      if (!slot) return graph_.literal(value);
      return graph_.number({.name = name, .type = type}, {.real = 0, .integer = value});
    }
    const double value = one_of(kReals);
    if (!slot) return graph_.literal(value);
    return graph_.number({.name = name, .type = type}, {.real = value, .integer = 0});
  }

  void add_constant() { keep(constant(random_.chance(0.5) ? Type::kInt : Type::kFloat)); }

  void declare_capture(int index) {
    const auto rank = static_cast<std::uint32_t>(random_.between(0, 4));
    const auto dtype = static_cast<DType>(random_.between(0, 9));
    TensorView view;
    view.dtype = dtype;
    for (std::uint32_t axis = 0; axis < rank; ++axis) view.shape.push_back(0);
    view.strides = view.shape;
    const std::string name = index == 0 ? "doc" : one_of(kNames) + std::to_string(index);
    graph_.capture({.name = name, .dtype = dtype, .rank = rank}, view);
  }

  NodeId guard() { return random_.chance(0.5) ? graph_.literal(true) : any(Type::kBool); }

  void add_operation() {
    if (random_.chance(0.1)) return add_load();
    const ir::OpRow& op_row = one_of(ir::op_rows());
    std::vector<NodeId> operands;
    for (std::size_t i = 0; i < op_row.written_operands(); ++i)
      operands.push_back(any(ir::type_of(op_row.signature[i])));
    if (op_row.has_guard()) operands.push_back(guard());
    keep(graph_.apply(op_row.op, operands));
  }

  void add_load() {
    const auto capture = static_cast<std::uint32_t>(random_.between(0, 2));
    std::vector<NodeId> indices;
    for (std::uint32_t axis = 0; axis < graph_.captures()[capture].rank; ++axis)
      indices.push_back(any(random_.chance(0.1) ? Type::kBool : Type::kInt));
    keep(graph_.load(capture, indices, guard()));
  }

  cases::Random& random_;
  Graph graph_;
  std::array<std::vector<NodeId>, 3> nodes_;
};

}  // namespace

std::pair<ir::Program, ir::Bindings> random_graph(cases::Random& random, int operations) {
  return Builder(random).build(operations);
}

}  // namespace tilewright::tests
