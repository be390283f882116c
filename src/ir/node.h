#pragma once

#include <cstdint>
#include <string>

#include "ir/op.h"
#include "tilewright/dtype.h"

namespace tilewright::ir {

/// Index of a node in its program or graph; operands always have smaller ids.
using NodeId = std::uint32_t;

inline constexpr NodeId kNoNode = 0xffffffffU;

/// One operation. Operands lie in the owner's operand array.
struct Node {
  Op op = Op::kLiteral;
  Type type = Type::kFloat;
  std::uint16_t operand_count = 0;
  std::uint32_t operand_begin = 0;
  std::uint64_t payload =
      0;  ///< kLiteral: bits of the double, integer or truth value; kNumber: slot; kLoad: capture
};

/// A captured tensor as the structure sees it. Shape and strides are bindings.
struct CaptureSlot {
  std::string name;
  DType dtype = DType::kF32;
  std::uint32_t rank = 0;
  bool operator==(const CaptureSlot&) const = default;
};

/// A bound number. Numbers without a name cannot be rebound.
struct NumberSlot {
  std::string name;
  Type type = Type::kInt;
  bool operator==(const NumberSlot&) const = default;
};

/// The value of a number slot; the slot's type says which member counts.
struct NumberValue {
  double real = 0;
  std::int64_t integer = 0;
};

}  // namespace tilewright::ir
