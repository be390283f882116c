#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"
#include "tilewright/error.h"

namespace tilewright::ir {

/// One score's place: logical indices; h is the query head.
struct Position {
  std::int64_t b = 0;
  std::int64_t h = 0;
  std::int64_t q = 0;
  std::int64_t kv = 0;
};

/// What one node held; the program's type says which member counts. A load or division behind a
/// false guard holds 0.
struct NodeValue {
  double real = 0;
  std::int64_t integer = 0;
  bool truth = false;
};

/// The meaning of a program: scores in fp64, masks in fp32 (fp64 if the mask reads an f64 capture).
/// Not thread-safe: it keeps scratch values, and from one score to the next it evaluates only what
/// reads something that changed. Program and bindings must outlive it; captured data must not
/// change while it lives.
class Interpreter {
 public:
  Interpreter(const Program& program, const Bindings& bindings);

  /// mask_mod; true where there is none. Throws Error{kIndexOutOfRange, kDivisionByZero} for live
  /// faults (R8, R9).
  bool mask(const Position& position);
  /// score_mod; `score` where there is none. Call it for pairs whose mask holds: in all others
  /// subscripts are dead.
  double score(double score, const Position& position);
  /// score_mod with every float rounded to fp32, as a plain fp32 computation has it.
  float score_f32(float score, const Position& position);

  /// The floats of Roots::derivatives for one score, in fp64 or with every float rounded to fp32;
  /// valid until the next call. Call it as score().
  const std::vector<double>& derivatives(double score, const Position& position);
  const std::vector<double>& derivatives_f32(float score, const Position& position);
  /// The element that a load read in the call before, one index per axis in range; absent behind a
  /// false guard.
  std::optional<Dims> subscripts(NodeId load) const;

  /// Every node's value for one score, score nodes in fp64, in program order.
  std::vector<NodeValue> values(double score, const Position& position);

 private:
  /// The nodes of some roots, what each reads, and their values for the latest position.
  struct Pass {
    std::vector<NodeId> nodes;        ///< in program order
    std::vector<std::uint8_t> reads;  ///< of each of `nodes`: bits of the leaves below it
    std::vector<NodeValue> values;    ///< by node id
    Position at;
    double score = 0;
    bool is_f64 = false;
    bool is_known = false;  ///< `values` hold for `at`, `score` and `is_f64`
  };

  Pass pass_of(const std::vector<NodeId>& roots) const;
  template <class F>
  const std::vector<double>& derivatives_in(double score, const Position& position);
  template <class F>
  void evaluate(Pass& pass, double score, const Position& position) const;
  template <class F>
  NodeValue evaluate_node(const Pass& pass, NodeId id) const;
  template <class F>
  NodeValue evaluate_row(const Pass& pass, NodeId id) const;
  NodeValue load(const Pass& pass, NodeId id) const;
  std::int64_t element_offset(const Pass& pass, NodeId id) const;
  void require_divisor(const Pass& pass, NodeId id) const;

  const Program& program_;
  const Bindings& bindings_;
  Pass mask_;
  Pass score_;
  Pass derivative_;  ///< of every derivative root
  std::vector<double> derivatives_;
};

/// "doc[7]" style text of a subscript fault, shared by every backend.
[[noreturn]] void raise_index_out_of_range(const CaptureSlot& capture, std::int64_t axis,
                                           std::int64_t index, std::int64_t extent);
[[noreturn]] void raise_division_by_zero(std::string_view fn);
[[noreturn]] void raise_unbound_capture(const CaptureSlot& capture);

}  // namespace tilewright::ir
