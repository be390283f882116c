#include "explain_score.h"

#include <algorithm>
#include <cmath>

#include "base/element.h"
#include "base/formatted.h"
#include "io/json.h"
#include "ir/op.h"
#include "ir/program.h"
#include "tilewright/error.h"

namespace tilewright::cli {

namespace {

std::string value_text(ir::Type type, const ir::NodeValue& value) {
  if (type == ir::Type::kBool) return value.truth ? "true" : "false";
  if (type == ir::Type::kInt) return std::to_string(value.integer);
  return formatted("{}", value.real);
}

std::string head_text(const ir::Program& program, const ir::Node& node) {
  switch (node.op) {
    case ir::Op::kScore:
      return "score";
    case ir::Op::kBatch:
      return "b";
    case ir::Op::kHead:
      return "h";
    case ir::Op::kQuery:
      return "q";
    case ir::Op::kKey:
      return "kv";
    case ir::Op::kLiteral:
      return "literal";
    case ir::Op::kLoad:
      return program.captures()[node.payload].name;
    case ir::Op::kNumber:
      return "number " + program.numbers()[node.payload].name;
    default:
      return std::string(ir::row(node.op).fn);
  }
}

bool is_true_literal(const ir::Node& node) {
  return node.op == ir::Op::kLiteral && node.type == ir::Type::kBool && node.payload != 0;
}

/// The last operand of what can fault is its guard: the condition under which it is reached.
bool has_guard(ir::Op op) {
  return op == ir::Op::kLoad || (!ir::is_leaf(op) && ir::row(op).has_guard());
}

/// "add(%3, %5)", "doc[%0]", and " if %7" where a guard may be false.
std::string expression_text(const ir::Program& program, ir::NodeId id) {
  const ir::Node& node = program.node(id);
  const auto operands = program.operands(id);
  const std::size_t written = operands.size() - (has_guard(node.op) ? 1 : 0);
  std::string list;
  for (const ir::NodeId operand : operands.first(written)) {
    list += formatted("{}%{}", list.empty() ? "" : ", ", operand);
  }
  const bool is_load = node.op == ir::Op::kLoad;
  std::string text = head_text(program, node);
  if (!list.empty()) text += (is_load ? "[" : "(") + list + (is_load ? "]" : ")");
  if (written == operands.size() || is_true_literal(program.node(operands.back()))) return text;
  return text + formatted(" if %{}", operands.back());
}

/// The guard that always holds says nothing.
bool is_shown(const ir::Program& program, ir::NodeId id) {
  const ir::Roots& roots = program.roots();
  return !is_true_literal(program.node(id)) || roots.mask == id || roots.score == id;
}

[[noreturn]] void raise_outside(const Dims& query, const Dims& key, const ir::Position& p) {
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = "--at lies outside the tensors",
               .where = "--at",
               .expected = "inside query " + to_string(query) + " and key " + to_string(key),
               .got = formatted("b = {}, h = {}, q = {}, kv = {}", p.b, p.h, p.q, p.kv),
               .hint = {}});
}

double element(const TensorView& view, const Dims& index) {
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < index.size(); ++axis)
    offset += index[axis] * view.strides[axis];
  return read_real(view, offset);
}

std::string role_of(const ir::Roots& roots, ir::NodeId id) {
  if (roots.mask == id) return "mask";
  return roots.score == id ? "score" : "";
}

}  // namespace

double score_of(const ForwardInputs& inputs, const ir::Position& p) {
  const Dims& query = inputs.query.shape;
  const Dims& key = inputs.key.shape;
  const bool inside = p.b >= 0 && p.b < query[0] && p.h >= 0 && p.h < query[1] && p.q >= 0 &&
                      p.q < query[2] && p.kv >= 0 && p.kv < key[2];
  if (!inside) raise_outside(query, key, p);
  const std::int64_t kv_b = key[0] == 1 ? 0 : p.b;
  const std::int64_t kv_h = p.h / (query[1] / key[1]);
  double sum = 0;
  for (std::int64_t d = 0; d < query[3]; ++d) {
    sum += element(inputs.query, {p.b, p.h, p.q, d}) * element(inputs.key, {kv_b, kv_h, p.kv, d});
  }
  return sum / std::sqrt(static_cast<double>(query[3]));
}

ScoreTrace trace_score(const Program& program, double score, const ir::Position& position) {
  const ir::Program& structure = program.structure();
  ir::Interpreter interpreter(structure, program.bindings());
  const std::vector<ir::NodeValue> values = interpreter.values(score, position);
  ScoreTrace trace{
      .position = position, .score_in = score, .live = true, .score_out = score, .nodes = {}};
  for (ir::NodeId id = 0; id < structure.size(); ++id) {
    if (!is_shown(structure, id)) continue;
    trace.nodes.push_back({.name = formatted("%{}", id),
                           .expression = expression_text(structure, id),
                           .value = value_text(structure.node(id).type, values[id]),
                           .role = role_of(structure.roots(), id)});
  }
  if (structure.roots().score) trace.score_out = values[*structure.roots().score].real;
  if (structure.roots().mask) trace.live = values[*structure.roots().mask].truth;
  trace.live = trace.live && trace.score_out != -INFINITY;
  return trace;
}

io::Json to_json(const ScoreTrace& trace) {
  io::Json json;
  json["b"] = trace.position.b;
  json["h"] = trace.position.h;
  json["q"] = trace.position.q;
  json["kv"] = trace.position.kv;
  json["score_in"] = trace.score_in;
  json["score_out"] = formatted("{}", trace.score_out);
  json["live"] = trace.live;
  json["nodes"] = io::Json::array();
  for (const TracedNode& node : trace.nodes) {
    json["nodes"].push_back({{"name", node.name},
                             {"expression", node.expression},
                             {"value", node.value},
                             {"role", node.role}});
  }
  return json;
}

std::string to_text(const ScoreTrace& trace) {
  std::string text =
      formatted("b = {}, h = {}, q = {}, kv = {}, score = {}\n", trace.position.b, trace.position.h,
                trace.position.q, trace.position.kv, trace.score_in);
  std::size_t widest = 0;
  for (const TracedNode& node : trace.nodes) widest = std::max(widest, node.expression.size());
  for (const TracedNode& node : trace.nodes) {
    text += formatted("  {:>5} = {:<{}}  {}{}\n", node.name, node.expression, widest, node.value,
                      node.role.empty() ? "" : "   <- " + node.role);
  }
  return text + (trace.live ? formatted("live, score {}\n", trace.score_out)
                            : "dead: it takes no part in the softmax\n");
}

}  // namespace tilewright::cli
