#pragma once

#include "analyse/interval.h"

/// Ranges of the truth-value rows of ops.def and of the three choices.
namespace tilewright::analyse::rule {

inline TruthRange bnot(TruthRange a) { return {a.can_be_true, a.can_be_false}; }
inline TruthRange band(TruthRange a, TruthRange b) {
  return {.can_be_false = a.can_be_false || b.can_be_false,
          .can_be_true = a.can_be_true && b.can_be_true};
}
inline TruthRange bor(TruthRange a, TruthRange b) {
  return {.can_be_false = a.can_be_false && b.can_be_false,
          .can_be_true = a.can_be_true || b.can_be_true};
}
inline TruthRange bxor(TruthRange a, TruthRange b) {
  return {.can_be_false = (a.can_be_false && b.can_be_false) || (a.can_be_true && b.can_be_true),
          .can_be_true = (a.can_be_false && b.can_be_true) || (a.can_be_true && b.can_be_false)};
}

template <class Range>
Range choose(TruthRange condition, Range yes, Range no) {
  if (condition.is_true()) return yes;
  return condition.is_false() ? no : hull(yes, no);
}
inline RealRange fselect(TruthRange condition, RealRange yes, RealRange no) {
  return choose(condition, yes, no);
}
inline IntRange iselect(TruthRange condition, IntRange yes, IntRange no) {
  return choose(condition, yes, no);
}
inline TruthRange bselect(TruthRange condition, TruthRange yes, TruthRange no) {
  return choose(condition, yes, no);
}

}  // namespace tilewright::analyse::rule
