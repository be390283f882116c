#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/program.h"

namespace tilewright::analyse {

/// Appends nodes to a copy of a program; equal nodes are shared and sums with 0 vanish.
class BoundBuilder {
 public:
  explicit BoundBuilder(const ir::Program& program);

  ir::NodeId integer(std::int64_t value);
  ir::NodeId truth(bool value);
  /// A number slot without a name.
  ir::NodeId number();
  ir::NodeId apply(ir::Op op, std::initializer_list<ir::NodeId> operands) {
    return apply(op, std::vector<ir::NodeId>(operands));
  }
  ir::NodeId apply(ir::Op op, const std::vector<ir::NodeId>& operands);
  /// The same node over other operands.
  ir::NodeId rebuild(ir::NodeId id, const std::vector<ir::NodeId>& operands);

  ir::NodeId add(ir::NodeId a, ir::NodeId b);
  ir::NodeId sub(ir::NodeId a, ir::NodeId b);

  const ir::Node& node(ir::NodeId id) const { return parts_.nodes[id]; }
  std::vector<ir::NodeId> operands(ir::NodeId id) const;
  ir::Program finish() { return ir::Program(std::move(parts_)); }

 private:
  ir::NodeId append(ir::Node node, const std::vector<ir::NodeId>& operands);
  bool is_integer(ir::NodeId id, std::int64_t value) const;

  ir::Program::Parts parts_;
  std::map<std::tuple<ir::Op, ir::Type, std::uint64_t, std::vector<ir::NodeId>>, ir::NodeId> known_;
};

}  // namespace tilewright::analyse
