#include "author/access.h"

#include <vector>

#include "tilewright/error.h"

namespace tilewright::author {

namespace {

/// Value's node constructor is protected: handles are made only here.
struct Made : Value {
  Made(std::uint32_t node, std::uint32_t trace) : Value(FromNode{}, node, trace) {}
};

}  // namespace

ir::NodeId Access::node(const Value& value) {
  if (value.trace_ == tracing::Recorder::current().id()) return value.node_;
  throw Error({.code = ErrorCode::kTrace,
               .what = "a symbolic value of another trace is used",
               .where = {},
               .expected = "values made from this call's own arguments",
               .got = "a value that an earlier call stored",
               .hint = "mods must be pure: do not keep Score, Index or Bool in outer variables"});
}

Value Access::wrap(ir::NodeId node) { return Made(node, tracing::Recorder::current().id()); }

Value call(std::string_view fn, std::initializer_list<Value> operands) {
  std::vector<ir::NodeId> nodes;
  for (const Value& operand : operands) nodes.push_back(Access::node(operand));
  tracing::Recorder& recorder = tracing::Recorder::current();
  return Access::wrap(recorder.graph().call(fn, nodes, recorder.guard()));
}

}  // namespace tilewright::author
