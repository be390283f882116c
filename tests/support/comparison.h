#pragma once

#include <cstdint>
#include <string>

#include "tilewright/tensor.h"

namespace tilewright::cases {

/// One row of the tolerance table of docs/semantics.md.
struct Tolerance {
  double eps;      ///< of out, relative to its largest (and a tenth of it, to its mean) magnitude
  double row_eps;  ///< of lse and max_scores, relative to max(1, |value|)
};

/// The table, by the dtype of query.
Tolerance tolerance_of(DType dtype);

/// What a comparison measured. `max_bound` and `mean_bound` are what the errors had to stay under.
struct Verdict {
  bool passed = false;
  double max_error = 0;
  double max_bound = 0;
  double mean_error = 0;
  double mean_bound = 0;
  std::string reason;  ///< empty where passed
};

/// Both rules for out: X against the fp64 meaning, bounded by what a plain computation loses.
Verdict compare_out(const TensorView& x, const TensorView& x64, const TensorView& xref,
                    DType dtype);

/// The same for a gradient: three times the eps.
Verdict compare_gradient(const TensorView& x, const TensorView& x64, const TensorView& xref,
                         DType dtype);

/// The rule for lse and max_scores. Infinities must agree exactly.
Verdict compare_rows(const TensorView& x, const TensorView& x64, DType dtype);

/// "Exactly": the same bits in every element.
Verdict compare_bits(const TensorView& x, const TensorView& y);

}  // namespace tilewright::cases
