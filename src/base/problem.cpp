#include "tilewright/problem.h"

#include <cmath>

namespace tilewright {

double Problem::scale_or_default() const noexcept {
  if (scale) return *scale;
  return head_dim == 0 ? 1.0 : 1.0 / std::sqrt(static_cast<double>(head_dim));
}

}  // namespace tilewright
