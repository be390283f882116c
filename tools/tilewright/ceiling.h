#pragma once

#include <cstdint>
#include <string>

#include "tilewright/dtype.h"

namespace tilewright::cli {

/// What this machine can multiply and add at most: register-only loops on several threads at once.
class Ceiling {
 public:
  /// @param isa  as in EngineOptions::cpu_isa; "" is the widest that the CPU has for this dtype
  Ceiling(DType dtype, const std::string& isa, int threads);

  /// GFLOP/s of all threads together over about `seconds`, each by its own CPU time.
  double measure(double seconds) const;
  const std::string& instruction() const { return instruction_; }

 private:
  using PeakLoop = std::int64_t (*)(std::int64_t loops, float* sink);
  PeakLoop loop_;
  std::int64_t loops_per_second_ = 0;
  int threads_;
  std::string instruction_;
};

}  // namespace tilewright::cli
