#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace tilewright::cli {

/// Milliseconds of several timings.
struct Timings {
  std::vector<double> sorted_ms;

  double median() const { return sorted_ms.empty() ? 0 : sorted_ms[sorted_ms.size() / 2]; }
  double least() const { return sorted_ms.empty() ? 0 : sorted_ms.front(); }
  double most() const { return sorted_ms.empty() ? 0 : sorted_ms.back(); }
};

/// Wall-clock milliseconds of one call.
template <class Body>
double time_once_ms(const Body& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

inline Timings timings_of(std::vector<double> samples_ms) {
  std::sort(samples_ms.begin(), samples_ms.end());
  return {std::move(samples_ms)};
}

}  // namespace tilewright::cli
