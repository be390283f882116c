#include "support/comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "support/tensor.h"

namespace tilewright::cases {

namespace {

struct ToleranceRow {
  DType dtype;
  Tolerance tolerance;
};

constexpr std::array kTolerances = {
    ToleranceRow{DType::kF32, {.eps = 1e-5, .row_eps = 1e-5}},
    ToleranceRow{DType::kF16, {.eps = 1e-3, .row_eps = 1e-5}},
    ToleranceRow{DType::kBF16, {.eps = 8e-3, .row_eps = 1e-5}},
    ToleranceRow{DType::kF64, {.eps = 1e-11, .row_eps = 1e-11}},
};

/// The two rules.
constexpr double kMaxOverReference = 2;
constexpr double kMeanOverReference = 1.2;
constexpr double kMeanEpsShare = 0.1;

struct Sums {
  double max_error = 0, max_reference_error = 0, max_magnitude = 0;
  double sum_error = 0, sum_reference_error = 0, sum_magnitude = 0;
  std::string broken;
};

std::string at_index(const Dims& index) { return " at " + to_string(index); }

void require_same_shape(const TensorView& a, const TensorView& b) {
  TILEWRIGHT_CHECK(a.shape == b.shape);
}

void add(Sums& sums, const Dims& index, double x, double meaning, double plain) {
  // An infinity is no more comparable than a NaN: its error is NaN.
  if (!std::isfinite(meaning) || !std::isfinite(plain)) {
    if (sums.broken.empty()) sums.broken = "the reference is not finite" + at_index(index);
    return;
  }
  if (!std::isfinite(x) && sums.broken.empty()) sums.broken = "not finite" + at_index(index);
  const double error = std::abs(x - meaning);
  const double reference_error = std::abs(plain - meaning);
  sums.max_error = std::max(sums.max_error, error);
  sums.max_reference_error = std::max(sums.max_reference_error, reference_error);
  sums.max_magnitude = std::max(sums.max_magnitude, std::abs(meaning));
  sums.sum_error += error;
  sums.sum_reference_error += reference_error;
  sums.sum_magnitude += std::abs(meaning);
}

void judge(Verdict& verdict) {
  // Written so that a NaN fails.
  if (!(verdict.max_error <= verdict.max_bound))
    verdict.reason =
        "max error " + std::to_string(verdict.max_error / verdict.max_bound) + " times its bound";
  else if (!(verdict.mean_error <= verdict.mean_bound))
    verdict.reason = "mean error " + std::to_string(verdict.mean_error / verdict.mean_bound) +
                     " times its bound";
  verdict.passed = verdict.reason.empty();
}

}  // namespace

Tolerance tolerance_of(DType dtype) {
  for (const ToleranceRow& row : kTolerances)
    if (row.dtype == dtype) return row.tolerance;
  TILEWRIGHT_CHECK(!"a dtype without a tolerance");
  return {};
}

namespace {

Verdict compare(const TensorView& x, const TensorView& x64, const TensorView& xref, double eps) {
  require_same_shape(x, x64);
  require_same_shape(x, xref);
  Sums sums;
  for_each_index(x.shape, [&](const Dims& index) {
    add(sums, index, Tensor::value_at(x, index), Tensor::value_at(x64, index),
        Tensor::value_at(xref, index));
  });
  const double count = static_cast<double>(std::max<std::int64_t>(element_count(x.shape), 1));
  Verdict verdict;
  verdict.max_error = sums.max_error;
  verdict.max_bound = kMaxOverReference * sums.max_reference_error + eps * sums.max_magnitude;
  verdict.mean_error = sums.sum_error / count;
  verdict.mean_bound =
      (kMeanOverReference * sums.sum_reference_error + kMeanEpsShare * eps * sums.sum_magnitude) /
      count;
  verdict.reason = sums.broken;
  if (verdict.reason.empty()) judge(verdict);
  return verdict;
}

}  // namespace

Verdict compare_out(const TensorView& x, const TensorView& x64, const TensorView& xref,
                    DType dtype) {
  return compare(x, x64, xref, tolerance_of(dtype).eps);
}

Verdict compare_gradient(const TensorView& x, const TensorView& x64, const TensorView& xref,
                         DType dtype) {
  constexpr double kGradientEps = 3;
  return compare(x, x64, xref, kGradientEps * tolerance_of(dtype).eps);
}

Verdict compare_rows(const TensorView& x, const TensorView& x64, DType dtype) {
  require_same_shape(x, x64);
  const double eps = tolerance_of(dtype).row_eps;
  Verdict verdict;
  verdict.max_bound = eps;
  for_each_index(x.shape, [&](const Dims& index) {
    const double value = Tensor::value_at(x, index);
    const double meaning = Tensor::value_at(x64, index);
    if (std::isinf(meaning) && value == meaning) return;
    const double error = std::abs(value - meaning) / std::max(1.0, std::abs(meaning));
    if (!(error <= eps) && verdict.reason.empty())
      verdict.reason = std::to_string(value) + " for " + std::to_string(meaning) + at_index(index);
    verdict.max_error = std::max(verdict.max_error, error);
  });
  verdict.passed = verdict.reason.empty();
  return verdict;
}

Verdict compare_bits(const TensorView& x, const TensorView& y) {
  Verdict verdict;
  TILEWRIGHT_CHECK(x.shape == y.shape && x.dtype == y.dtype);
  const auto bytes = static_cast<std::int64_t>(size_bytes(x.dtype));
  for_each_index(x.shape, [&](const Dims& index) {
    const char* left = static_cast<const char*>(x.data) + offset_of(x, index) * bytes;
    const char* right = static_cast<const char*>(y.data) + offset_of(y, index) * bytes;
    if (std::memcmp(left, right, static_cast<std::size_t>(bytes)) == 0) return;
    if (verdict.reason.empty()) verdict.reason = "bits differ" + at_index(index);
  });
  verdict.passed = verdict.reason.empty();
  return verdict;
}

}  // namespace tilewright::cases
