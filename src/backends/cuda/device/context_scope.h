#pragma once

#include "backends/cuda/driver/driver.h"

namespace tilewright::cuda {

/// Makes a context current for its lifetime and then restores what was current before. Costs one
/// call where it is current already.
class ContextScope {
 public:
  ContextScope(const Driver& driver, ContextHandle context) : driver_(driver) {
    ContextHandle current = nullptr;
    if (driver.context_current(&current) == 0 && current == context) return;
    driver.check(driver.context_push(context), "cuCtxPushCurrent", "the device's primary context");
    pushed_ = true;
  }
  ~ContextScope() {
    ContextHandle popped = nullptr;
    if (pushed_) driver_.context_pop(&popped);
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  const Driver& driver_;
  bool pushed_ = false;
};

}  // namespace tilewright::cuda
