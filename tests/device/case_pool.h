#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "support/cases.h"

namespace tilewright::device_tests {

/// What happened to the cases of a run.
struct Tally {
  std::atomic<int> ran{0}, refused{0};
  std::mutex mutex;
  std::map<std::string, int> kernels;
  std::vector<std::string> failures;

  void fail(const std::string& id, const std::string& why);
  void took(const std::string& kernel);
  /// One gtest failure for each; properties and a line for what ran.
  void report() const;
};

/// Runs the problem table on all cores; TILEWRIGHT_CASES=n takes every n-th case.
void for_each_case(const std::function<void(const cases::Case&)>& run);

}  // namespace tilewright::device_tests
