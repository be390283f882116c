#include <tilewright/tilewright.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace tw = tilewright;

// Causal attention with equal scores: row i of out is the mean of the first i + 1 rows of value.
int main() {
  const auto causal =
      tw::trace([](tw::Index, tw::Index, tw::Index q, tw::Index kv) { return q >= kv; });
  std::vector<float> ones(4 * 8, 1.0F), value(4 * 8), out(4 * 8);
  std::iota(value.begin(), value.end(), 0.0F);
  const auto view = [](std::vector<float>& x) {
    return tw::contiguous(x.data(), tw::DType::kF32, {1, 1, 4, 8});
  };
  tw::Engine engine;
  engine.attention(causal, {view(ones), view(ones), view(value)}, {.out = view(out)});
  const bool right = std::abs(out[0]) < 1e-5F && std::abs(out[24] - 12.0F) < 1e-5F;
  return right ? 0 : 1;
}
