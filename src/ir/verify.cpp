#include "ir/verify.h"

#include <string>

#include "base/check.h"
#include "ir/program.h"

namespace tilewright::ir {

namespace {

void require_limit(std::size_t got, std::size_t limit, const char* what) {
  if (got <= limit) return;
  throw Error({.code = ErrorCode::kUnsupported,
               .what = std::string("the program has too many ") + what,
               .where = {},
               .expected = "at most " + std::to_string(limit),
               .got = std::to_string(got),
               .hint = "keep long tables in captured tensors and subscript them"});
}

void verify_load(const Program& program, NodeId id) {
  const Node& node = program.node(id);
  TILEWRIGHT_CHECK(node.payload < program.captures().size());
  const CaptureSlot& capture = program.captures()[node.payload];
  TILEWRIGHT_CHECK(node.operand_count == capture.rank + 1);
  for (std::size_t i = 0; i < capture.rank; ++i)
    TILEWRIGHT_CHECK(program.node(program.operands(id)[i]).type == Type::kInt);
  TILEWRIGHT_CHECK(program.node(program.operands(id)[capture.rank]).type == Type::kBool);
}

void verify_row(const Program& program, NodeId id) {
  const Node& node = program.node(id);
  const OpRow& op_row = row(node.op);
  TILEWRIGHT_CHECK(node.operand_count == op_row.operand_count());
  TILEWRIGHT_CHECK(node.type == op_row.result);
  for (std::size_t i = 0; i < node.operand_count; ++i)
    TILEWRIGHT_CHECK(program.node(program.operands(id)[i]).type == type_of(op_row.signature[i]));
}

void verify_node(const Program& program, NodeId id) {
  const Node& node = program.node(id);
  for (NodeId operand : program.operands(id)) TILEWRIGHT_CHECK(operand < id);
  if (node.op == Op::kLoad) return verify_load(program, id);
  if (!is_leaf(node.op)) return verify_row(program, id);
  TILEWRIGHT_CHECK(node.operand_count == 0);
  if (node.op != Op::kNumber) return;
  TILEWRIGHT_CHECK(node.payload < program.numbers().size());
  TILEWRIGHT_CHECK(node.type == program.numbers()[node.payload].type && node.type != Type::kBool);
}

}  // namespace

void verify(const Program& program) {
  require_limit(program.size(), kMaxNodes, "operations");
  require_limit(program.captures().size(), kMaxCaptures, "captured tensors");
  for (const CaptureSlot& slot : program.captures()) {
    require_limit(slot.name.size(), kMaxNameBytes, "bytes in the name of a captured tensor");
    require_limit(slot.rank, Dims::kMaxRank, "axes in a captured tensor");
  }
  for (const NumberSlot& slot : program.numbers())
    require_limit(slot.name.size(), kMaxNameBytes, "bytes in the name of a number");
  for (NodeId id = 0; id < program.size(); ++id) verify_node(program, id);
  const Roots& roots = program.roots();
  if (roots.score) TILEWRIGHT_CHECK(program.node(*roots.score).type == Type::kFloat);
  for (NodeId derivative : roots.derivatives)
    TILEWRIGHT_CHECK(derivative < program.size() && program.node(derivative).type == Type::kFloat);
  if (roots.mask) {
    TILEWRIGHT_CHECK(program.node(*roots.mask).type == Type::kBool);
    const std::vector<bool> reachable = program.reachable_from(*roots.mask);
    for (NodeId id = 0; id < program.size(); ++id)
      TILEWRIGHT_CHECK(!reachable[id] || program.node(id).op != Op::kScore);
  }
}

}  // namespace tilewright::ir
