#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/digest.h"
#include "ir/node.h"
#include "tilewright/tensor.h"

namespace tilewright::ir {

/// The named results of a program. New roots (prob) are appended.
struct Roots {
  std::optional<NodeId> score;  ///< float; absent: the score itself
  std::optional<NodeId> mask;   ///< bool; absent: every pair is live
  /// Floats that backward reads beside the score; only differentiate() makes such programs.
  std::vector<NodeId> derivatives = {};
};

/// Limits that every program keeps, whoever wrote it.
inline constexpr std::size_t kMaxNodes = 16384;
inline constexpr std::size_t kMaxCaptures = 256;
inline constexpr std::size_t kMaxNameBytes = 1024;  ///< of a capture or a number

/// The structure of a score_mod and a mask_mod: an immutable list of nodes in topological order,
/// canonical (nodes, captures and numbers are numbered by first use from the roots, mask first). No
/// numbers, shapes or strides.
class Program {
 public:
  struct Parts {
    std::vector<Node> nodes;
    std::vector<NodeId> operands;
    std::vector<CaptureSlot> captures;
    std::vector<NumberSlot> numbers;
    Roots roots;
  };

  Program() : Program(Parts{}) {}
  explicit Program(Parts parts);

  std::size_t size() const noexcept { return parts_.nodes.size(); }
  const Node& node(NodeId id) const noexcept { return parts_.nodes[id]; }
  std::span<const Node> nodes() const noexcept { return parts_.nodes; }
  std::span<const NodeId> operands(NodeId id) const noexcept {
    const Node& n = parts_.nodes[id];
    return {parts_.operands.data() + n.operand_begin, n.operand_count};
  }
  std::span<const CaptureSlot> captures() const noexcept { return parts_.captures; }
  std::span<const NumberSlot> numbers() const noexcept { return parts_.numbers; }
  const Roots& roots() const noexcept { return parts_.roots; }

  /// Names the structure: equal for programs that differ only in names and numbers.
  const Digest& structure_digest() const noexcept { return digest_; }

  /// For each node whether `root` needs it.
  std::vector<bool> reachable_from(NodeId root) const;

  /// Mask floats are fp32 on every backend, fp64 if the mask reads an f64 capture: so that every
  /// backend masks alike (R3).
  bool mask_is_f64() const noexcept { return mask_is_f64_; }

 private:
  Parts parts_;
  Digest digest_;
  bool mask_is_f64_ = false;
};

/// What a program reads: one entry per capture and number slot.
struct Bindings {
  std::vector<TensorView> captures;
  std::vector<NumberValue> numbers;
};

/// Names structure and numbers; captured data is not part of it.
Digest content_digest(const Program& program, const Bindings& bindings);

}  // namespace tilewright::ir
