#include "analyse/table_range.h"

#include <algorithm>

#include "analyse/element_scan.h"

namespace tilewright::analyse {

Interval dtype_range(DType dtype) {
  switch (dtype) {
    case DType::kI8:
      return IntRange{-128, 127};
    case DType::kI16:
      return IntRange{-32768, 32767};
    case DType::kI32:
      return IntRange{-2147483648LL, 2147483647LL};
    case DType::kI64:
      return kAnyInt;
    case DType::kU8:
      return IntRange{0, 255};
    case DType::kBool:
      return kAnyTruth;
    default:
      return kAnyReal;
  }
}

namespace {

/// Scans the innermost axis in one go and walks the others.
Interval scan_axes(const TensorView& view, std::size_t axis, std::int64_t offset) {
  const std::int64_t extent = view.shape[axis];
  const std::int64_t stride = extent == 1 ? 0 : view.strides[axis];
  if (axis + 1 == view.rank())
    return scan(view, {.offset = offset, .stride = stride, .count = extent});
  const ir::Type type = element_type(view.dtype);
  Interval all = scan_axes(view, axis + 1, offset);
  if (stride == 0) return all;
  for (std::int64_t i = 1; i < extent; ++i)
    all = hull(type, all, scan_axes(view, axis + 1, offset + i * stride));
  return all;
}

}  // namespace

Interval table_range(const TensorView& view) {
  if (view.data == nullptr || view.device.kind != DeviceKind::kCpu ||
      element_count(view.shape) == 0)
    return dtype_range(view.dtype);
  if (view.rank() == 0) return scan(view, {.offset = 0, .stride = 0, .count = 1});
  return scan_axes(view, 0, 0);
}

std::vector<bool> captures_that_reach_integers(const ir::Program& program) {
  std::vector<bool> reaches(program.captures().size());
  std::vector<bool> is_cast(program.size());  // float nodes below a float_to_int
  for (ir::NodeId id = static_cast<ir::NodeId>(program.size()); id-- > 0;) {
    const ir::Node& node = program.node(id);
    const bool casts = node.op == ir::Op::float_to_int || is_cast[id];
    if (node.op == ir::Op::kLoad && (node.type == ir::Type::kInt || is_cast[id]))
      reaches[node.payload] = true;
    if (!casts || node.op == ir::Op::kLoad) continue;
    for (const ir::NodeId operand : program.operands(id))
      if (program.node(operand).type == ir::Type::kFloat) is_cast[operand] = true;
  }
  return reaches;
}

}  // namespace tilewright::analyse
