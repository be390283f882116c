#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tilewright::cli {

/// "verify 120/2400" on one line of standard error that rewrites itself; nothing in a pipe.
class Progress {
 public:
  Progress(std::string label, std::int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void step();

 private:
  std::string label_;
  std::int64_t total_;
  std::int64_t done_ = 0;
  bool shown_;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace tilewright::cli
