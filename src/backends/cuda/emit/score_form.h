#pragma once

#include <string>

#include "backends/cuda/emit/body.h"

namespace tilewright::cuda {

/// A float of score_mod as atom * factor + base + slope * offset + rest, each a C++ expression or
/// empty: base and slope are the same for all of a thread's scores of a row and tile, offset is a
/// constant once the loop over them is unrolled (PairIndex), rest is of the score. An affine
/// score_mod so costs one or two fused multiply-adds.
struct ScoreForm {
  std::string atom = {};    ///< "" : no score in it; "score": the scaled score
  std::string factor = {};  ///< empty: 1
  std::string base = {};
  std::string slope = {};
  std::string rest = {};
};

/// Finds forms and writes exponents: log2(e) * node + at.minus_reference.
class ScoreForms {
 public:
  /// `at_first_key` computes nodes as they are for the thread's first key.
  ScoreForms(const NodePlan& plan, Body& body, Body& at_first_key)
      : plan_(plan), body_(body), at_first_key_(at_first_key) {}

  std::string exponent(ir::NodeId id) { return exponent(id, 0); }
  /// The node's value, folded as exponents are.
  std::string value(ir::NodeId id);

 private:
  std::string exponent(ir::NodeId id, int depth);
  ScoreForm form(ir::NodeId id, int depth);
  ScoreForm free_form(ir::NodeId id, int depth);
  ScoreForm sum(const ScoreForm& a, const ScoreForm& b) const;
  ScoreForm product(ir::NodeId id, int depth);
  ScoreForm quotient(ir::NodeId id, int depth);
  ScoreForm scaled(const ScoreForm& form, const std::string& by, bool is_uniform) const;
  ScoreForm opaque(ir::NodeId id, int depth);
  void fold_operands(ir::NodeId id, int depth);
  /// The same for all of a thread's scores of a row and tile.
  bool is_uniform(ir::NodeId id) const { return plan_.scope[id] <= Scope::kRow; }

  const NodePlan& plan_;
  Body& body_;
  Body& at_first_key_;
};

}  // namespace tilewright::cuda
