#pragma once

#include "backends/contract/backend.h"

namespace tilewright::cuda {

/// A kernel that in checked mode tells of live subscripts and divisors that were bad.
class ReportingKernel : public backends::Kernel {
 public:
  /// Throws what it reported since the last time.
  virtual void check_errors() const = 0;
};

}  // namespace tilewright::cuda
