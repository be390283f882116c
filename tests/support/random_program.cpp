#include "support/random_program.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/element.h"
#include "ir/graph.h"
#include "support/random.h"

namespace tilewright::cases {

namespace {

using ir::Graph;
using ir::NodeId;
using ir::Op;
using ir::Type;

template <class Container>
const auto& any_of(Random& random, const Container& from) {
  return from[static_cast<std::size_t>(
      random.between(0, static_cast<std::int64_t>(std::size(from)) - 1))];
}

bool needs_maths_library(Op op) {
  static constexpr std::array kLibrary = {
      Op::exp,  Op::exp2, Op::expm1,   Op::log,  Op::log2, Op::log1p,   Op::rsqrt,
      Op::pow,  Op::sin,  Op::cos,     Op::tan,  Op::tanh, Op::sinh,    Op::cosh,
      Op::atan, Op::erf,  Op::sigmoid, Op::gelu, Op::silu, Op::softplus};
  return std::ranges::find(kLibrary, op) != kLibrary.end();
}

constexpr std::array kIntegerTables = {DType::kI8,  DType::kI16, DType::kI32,
                                       DType::kI64, DType::kU8,  DType::kBool};
constexpr std::array kFloatTables = {DType::kF32, DType::kF16, DType::kBF16};

/// Values that edge cases hang on, and small ones.
std::int64_t random_integer(Random& random) {
  static constexpr std::array<std::int64_t, 14> kEdges = {0,
                                                          1,
                                                          -1,
                                                          2,
                                                          7,
                                                          31,
                                                          32,
                                                          63,
                                                          64,
                                                          -128,
                                                          255,
                                                          1LL << 31,
                                                          std::numeric_limits<std::int64_t>::min(),
                                                          std::numeric_limits<std::int64_t>::max()};
  return random.chance(0.25) ? any_of(random, kEdges) : random.between(-20, 60);
}

double random_real(Random& random) {
  static constexpr std::array kEdges = {0.0, -0.0, 1.0, -1.0, 0.5, 1e30, -1e30, 1e-30};
  if (random.chance(0.05))
    return random.chance(0.50) ? INFINITY : (random.chance(0.50) ? -INFINITY : NAN);
  if (random.chance(0.15)) return any_of(random, kEdges);
  return static_cast<double>(random.between(-512, 512)) / 32;
}

class ProgramMaker {
 public:
  ProgramMaker(std::uint64_t seed, const RandomProgramOptions& options)
      : random_(seed), options_(options), truth_(graph_.literal(true)) {
    add(graph_.input(Op::kBatch));
    add(graph_.input(Op::kHead));
    add(graph_.input(Op::kQuery));
    add(graph_.input(Op::kKey));
    if (options.numbers) add_numbers();
  }

  RandomProgram run() {
    ir::Roots roots;
    if (options_.mask) {
      // A comparison of positions first, so that most masks are neither empty nor full.
      add_row(random_.chance(0.50) ? Op::ile : Op::ilt);
      for (int i = 0; i < options_.mask_operations; ++i) add_operation(false);
      roots.mask = last_of(Type::kBool);
    }
    if (options_.score) {
      score_ = graph_.input(Op::kScore);
      add(*score_);
      for (int i = 0; i < options_.score_operations; ++i) add_operation(true);
      roots.score = score_root();
    }
    auto [program, bindings] = graph_.finish(roots);
    return {std::make_shared<const ir::Program>(std::move(program)), std::move(bindings),
            std::move(storage_)};
  }

 private:
  std::vector<NodeId>& pool(Type type) { return pools_[static_cast<std::size_t>(type)]; }

  NodeId add(NodeId id) {
    pool(graph_.type(id)).push_back(id);
    return id;
  }

  /// A node of the type, mostly a recent one, so that chains grow deep.
  NodeId pick(Type type) {
    std::vector<NodeId>& nodes = pool(type);
    if (nodes.empty() || random_.chance(0.10)) return constant(type);
    const auto size = static_cast<std::int64_t>(nodes.size());
    const std::int64_t from = random_.chance(0.60) ? std::max<std::int64_t>(0, size - 4) : 0;
    return nodes[static_cast<std::size_t>(random_.between(from, size - 1))];
  }

  NodeId constant(Type type) {
    if (type == Type::kBool) return graph_.apply(Op::ilt, std::array{position(), position()});
    if (type == Type::kInt) {
      const std::int64_t value = random_integer(random_);
      if (value == 0 || value == 1 || value == -1) return graph_.literal(value);
      return graph_.number({.name = {}, .type = type}, {.real = 0, .integer = value});
    }
    const double value = random_real(random_);
    return graph_.number({.name = {}, .type = type}, {.real = value, .integer = 0});
  }

  NodeId position() { return pool(Type::kInt)[static_cast<std::size_t>(random_.between(0, 3))]; }

  void add_numbers() {
    add(graph_.number({.name = "n0", .type = Type::kInt},
                      {.real = 0, .integer = random_.between(1, 40)}));
    add(graph_.number({.name = "x0", .type = Type::kFloat},
                      {.real = random_real(random_), .integer = 0}));
  }

  NodeId last_of(Type type) {
    std::vector<NodeId>& nodes = pool(type);
    return nodes.empty() ? constant(type) : nodes.back();
  }

  NodeId score_root() {
    const NodeId last = last_of(Type::kFloat);
    // The score itself matters in most programs.
    if (random_.chance(0.80)) return graph_.apply(Op::add, std::array{last, *score_});
    return last;
  }

  void add_operation(bool in_score) {
    if (options_.captures && random_.chance(0.20)) {
      add_load();
      return;
    }
    const auto rows = ir::op_rows();
    for (int attempt = 0; attempt < 50; ++attempt) {
      const ir::OpRow& row = any_of(random_, rows);
      if (options_.exact_floats_only && needs_maths_library(row.op)) continue;
      // Masks are mostly about integers; every row still comes up in some program.
      const bool is_float = row.result == Type::kFloat || row.signature[0] == 'f';
      if (!in_score && is_float && random_.chance(0.60)) continue;
      return add_row(row.op);
    }
  }

  void add_row(Op op) {
    const ir::OpRow& row = ir::row(op);
    std::vector<NodeId> operands;
    for (std::size_t i = 0; i < row.written_operands(); ++i)
      operands.push_back(pick(ir::type_of(row.signature[i])));
    if (row.has_guard()) operands.push_back(divisor_guard(operands[1]));
    add(graph_.apply(op, operands));
  }

  /// A condition under which the divisor is not 0, at times with another one.
  NodeId divisor_guard(NodeId divisor) {
    if (options_.may_fault && random_.chance(0.3)) return pick(Type::kBool);
    const NodeId safe = graph_.apply(Op::ine, std::array{divisor, graph_.literal(std::int64_t{0})});
    if (!random_.chance(0.30)) return safe;
    return graph_.apply(Op::band, std::array{safe, pick(Type::kBool)});
  }

  NodeId integer(std::int64_t value) {
    if (value >= -1 && value <= 1) return graph_.literal(value);
    return graph_.number({.name = {}, .type = Type::kInt}, {.real = 0, .integer = value});
  }

  void add_load() {
    const std::int64_t rank = random_.between(0, 3);
    Dims shape;
    std::vector<NodeId> indices;
    NodeId guard = random_.chance(0.30) ? pick(Type::kBool) : truth_;
    for (std::int64_t axis = 0; axis < rank; ++axis) {
      shape.push_back(random_.between(1, rank > 1 ? 9 : 70));
      add_subscript(shape[shape.size() - 1], indices, guard);
    }
    const std::uint32_t capture = add_table(shape);
    add(graph_.load(capture, indices, guard));
  }

  /// In range by a remainder or a clamp, or guarded.
  void add_subscript(std::int64_t extent, std::vector<NodeId>& indices, NodeId& guard) {
    const NodeId index = pick(Type::kInt);
    const NodeId low = integer(random_.chance(0.50) ? 0 : -extent);
    const NodeId high = integer(extent - 1);
    if (options_.may_fault && random_.chance(0.6)) {
      // A guard that is right on one side only, or about a neighbour of the index.
      indices.push_back(
          random_.chance(0.5) ? index : graph_.apply(Op::isub, std::array{position(), position()}));
      const NodeId about = random_.chance(0.7) ? indices.back() : position();
      const NodeId below = graph_.apply(random_.chance(0.5) ? Op::ile : Op::ilt,
                                        std::array{about, integer(extent - 1)});
      guard = graph_.apply(Op::band, std::array{guard, below});
      if (!random_.chance(0.6)) return;
      const NodeId above = graph_.apply(Op::ile, std::array{position(), about});
      guard = graph_.apply(Op::band, std::array{guard, above});
      return;
    }
    switch (random_.between(0, 2)) {
      case 0:
        indices.push_back(graph_.apply(Op::ifloor_mod, std::array{index, integer(extent), truth_}));
        return;
      case 1:
        indices.push_back(graph_.apply(Op::iclamp, std::array{index, low, high}));
        return;
      default:
        indices.push_back(index);
        guard = graph_.apply(Op::band,
                             std::array{guard, graph_.apply(Op::ile, std::array{low, index})});
        guard = graph_.apply(Op::band,
                             std::array{guard, graph_.apply(Op::ile, std::array{index, high})});
    }
  }

  std::uint32_t add_table(const Dims& shape) {
    DType dtype =
        random_.chance(0.60) ? any_of(random_, kIntegerTables) : any_of(random_, kFloatTables);
    if (options_.fp64_captures && random_.chance(0.30)) dtype = DType::kF64;
    // Rows of the innermost axis lie apart, and at times run backwards or are all the same.
    Dims strides = contiguous_strides(shape);
    const std::int64_t gap = random_.between(1, 2);
    for (std::size_t i = 0; i < strides.size(); ++i) strides[i] *= gap;
    const std::int64_t elements = gap * element_count(shape);
    auto bytes = std::make_unique<std::vector<std::byte>>(static_cast<std::size_t>(elements) *
                                                          size_bytes(dtype));
    TensorView view{
        .data = bytes->data(), .dtype = dtype, .shape = shape, .strides = strides, .device = {}};
    fill(view, elements);
    std::int64_t first = 0;
    for (std::size_t i = 0; i < strides.size(); ++i) {
      if (random_.chance(0.10)) view.strides[i] = 0;
      if (view.strides[i] == 0 || !random_.chance(0.15)) continue;
      first += (shape[i] - 1) * strides[i];
      view.strides[i] = -strides[i];
    }
    view.data = bytes->data() + first * static_cast<std::int64_t>(size_bytes(dtype));
    storage_.push_back(std::move(bytes));
    const std::string name = "t" + std::to_string(storage_.size());
    return graph_.capture(
        {.name = name, .dtype = dtype, .rank = static_cast<std::uint32_t>(shape.size())}, view);
  }

  void fill(const TensorView& view, std::int64_t elements) {
    const bool ascends = random_.chance(0.40);
    std::int64_t last = random_.between(-5, 5);
    for (std::int64_t i = 0; i < elements; ++i) {
      if (is_floating(view.dtype)) {
        write_real(view, i, random_real(random_));
        continue;
      }
      last = ascends ? last + (random_.chance(0.20) ? 1 : 0) : random_.between(-10, 60);
      write_integer(view, i, last);
    }
  }

  static void write_integer(const TensorView& view, std::int64_t i, std::int64_t value) {
    const std::size_t size = size_bytes(view.dtype);
    if (view.dtype == DType::kBool) value = value % 2 != 0 ? 1 : 0;
    auto* to = static_cast<std::byte*>(view.data) + static_cast<std::size_t>(i) * size;
    for (std::size_t byte = 0; byte < size; ++byte)
      to[byte] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * byte));
  }

  Random random_;
  const RandomProgramOptions& options_;
  Graph graph_;
  NodeId truth_;
  std::optional<NodeId> score_;
  std::array<std::vector<NodeId>, 3> pools_;
  std::vector<std::unique_ptr<std::vector<std::byte>>> storage_;
};

}  // namespace

RandomProgram random_program(std::uint64_t seed, const RandomProgramOptions& options) {
  return ProgramMaker(seed, options).run();
}

}  // namespace tilewright::cases
