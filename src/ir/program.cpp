#include "ir/program.h"

#include <utility>

#include "ir/verify.h"

namespace tilewright::ir {

namespace {

void write_node(DigestWriter& writer, const Program& program, NodeId id) {
  const Node& node = program.node(id);
  writer.integer(static_cast<std::int64_t>(node.op)).integer(static_cast<std::int64_t>(node.type));
  writer.integer(static_cast<std::int64_t>(node.payload));
  for (NodeId operand : program.operands(id)) writer.integer(operand);
}

/// Slots that no node reads too: kernels lay out the parameters of every slot.
void write_slots(DigestWriter& writer, const Program& program) {
  writer.integer(static_cast<std::int64_t>(program.captures().size()));
  for (const CaptureSlot& capture : program.captures())
    writer.integer(static_cast<std::int64_t>(capture.dtype)).integer(capture.rank);
  writer.integer(static_cast<std::int64_t>(program.numbers().size()));
  for (const NumberSlot& number : program.numbers())
    writer.integer(static_cast<std::int64_t>(number.type));
}

void write_structure(DigestWriter& writer, const Program& program) {
  writer.text("tilewright program 2");
  write_slots(writer, program);
  for (NodeId id = 0; id < program.size(); ++id) write_node(writer, program, id);
  writer.integer(program.roots().score ? static_cast<std::int64_t>(*program.roots().score) : -1);
  writer.integer(program.roots().mask ? static_cast<std::int64_t>(*program.roots().mask) : -1);
  for (NodeId derivative : program.roots().derivatives) writer.integer(derivative);
}

bool mask_reads_f64(const Program& program) {
  if (!program.roots().mask) return false;
  const std::vector<bool> reachable = program.reachable_from(*program.roots().mask);
  for (NodeId id = 0; id < program.size(); ++id) {
    const Node& node = program.node(id);
    if (reachable[id] && node.op == Op::kLoad &&
        program.captures()[node.payload].dtype == DType::kF64)
      return true;
  }
  return false;
}

}  // namespace

Program::Program(Parts parts) : parts_(std::move(parts)) {
  verify(*this);
  DigestWriter writer;
  write_structure(writer, *this);
  digest_ = writer.finish();
  mask_is_f64_ = mask_reads_f64(*this);
}

std::vector<bool> Program::reachable_from(NodeId root) const {
  std::vector<bool> reachable(size(), false);
  reachable[root] = true;
  for (NodeId id = root + 1; id-- > 0;) {
    if (!reachable[id]) continue;
    for (NodeId operand : operands(id)) reachable[operand] = true;
  }
  return reachable;
}

Digest content_digest(const Program& program, const Bindings& bindings) {
  DigestWriter writer;
  writer.text(hex(program.structure_digest()));
  for (std::size_t slot = 0; slot < bindings.numbers.size(); ++slot) {
    const NumberValue& value = bindings.numbers[slot];
    if (program.numbers()[slot].type == Type::kFloat)
      writer.real(value.real);
    else
      writer.integer(value.integer);
  }
  return writer.finish();
}

}  // namespace tilewright::ir
