#include "backends/cpu/pass_bindings.h"

#include "ir/interpret.h"

namespace tilewright::cpu {

void raise_fault(const PassFault& fault, const ir::Program& program, const ir::Bindings& bindings) {
  const ir::Node& node = program.node(static_cast<ir::NodeId>(fault.node));
  if (node.op != ir::Op::kLoad) ir::raise_division_by_zero(ir::row(node.op).fn);
  const TensorView& view = bindings.captures[node.payload];
  ir::raise_index_out_of_range(program.captures()[node.payload], fault.axis, fault.index,
                               view.shape[static_cast<std::size_t>(fault.axis)]);
}

}  // namespace tilewright::cpu
