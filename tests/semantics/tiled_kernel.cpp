#include "semantics/tiled_kernel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/element.h"
#include "base/half.h"

namespace tilewright::cases {

namespace {

float rounded(DType dtype, float p) {
  if (dtype == DType::kF16) return f16_to_float(float_to_f16(p));
  if (dtype == DType::kBF16) return bf16_to_float(float_to_bf16(p));
  return p;
}

std::vector<float> row_of(const TensorView& view, std::int64_t row) {
  std::vector<float> values(static_cast<std::size_t>(view.shape[3]));
  for (std::size_t d = 0; d < values.size(); ++d)
    values[d] =
        static_cast<float>(Tensor::value_at(view, {0, 0, row, static_cast<std::int64_t>(d)}));
  return values;
}

/// The online softmax of one query row.
struct OnlineRow {
  float max = -std::numeric_limits<float>::infinity();
  float sum = 0;
  std::vector<float> out;

  void rescale(float new_max) {
    const float factor = std::exp(max - new_max);
    sum *= factor;
    for (float& value : out) value *= factor;
    max = new_max;
  }

  void visit(const std::vector<float>& scores, const TensorView& value, std::int64_t kv_begin) {
    const float tile_max = *std::max_element(scores.begin(), scores.end());
    if (tile_max > max) rescale(tile_max);
    std::vector<float> tile(out.size());
    float tile_sum = 0;
    for (std::size_t j = 0; j < scores.size(); ++j) {
      const float p = std::exp(scores[j] - max);
      tile_sum += p;
      const float p_rounded = rounded(value.dtype, p);
      const std::int64_t begin = (kv_begin + static_cast<std::int64_t>(j)) * value.strides[2];
      for (std::size_t d = 0; d < out.size(); ++d)
        tile[d] +=
            p_rounded * static_cast<float>(read_real(value, begin + static_cast<std::int64_t>(d)));
    }
    sum += tile_sum;
    for (std::size_t d = 0; d < out.size(); ++d) out[d] += tile[d];
  }
};

std::vector<float> scores_of(const std::vector<float>& query, const TensorView& key,
                             std::int64_t kv_begin, std::int64_t kv_end) {
  const float scale = 1 / std::sqrt(static_cast<float>(query.size()));
  std::vector<float> scores;
  for (std::int64_t j = kv_begin; j < kv_end; ++j) {
    float dot = 0;
    for (std::size_t d = 0; d < query.size(); ++d)
      dot += query[d] *
             static_cast<float>(read_real(key, j * key.strides[2] + static_cast<std::int64_t>(d)));
    scores.push_back(scale * dot);
  }
  return scores;
}

}  // namespace

void TiledKernel::run(const ForwardInputs& inputs, const ForwardOutputs& outputs) const {
  const std::int64_t kv_len = inputs.key.shape[2];
  const std::int64_t struck = live_keys / kTile / 2 * kTile;
  const std::int64_t end =
      mutation == Mutation::kUnmaskTile ? std::min(live_keys + kTile, kv_len) : live_keys;
  for (std::int64_t i = 0; i < inputs.query.shape[2]; ++i) {
    const std::vector<float> query = row_of(inputs.query, i);
    OnlineRow row;
    row.out.resize(static_cast<std::size_t>(inputs.value.shape[3]));
    for (std::int64_t begin = 0; begin < end; begin += kTile) {
      if (mutation == Mutation::kDropTile && begin == struck) continue;
      const int visits = mutation == Mutation::kVisitTwice && begin == struck ? 2 : 1;
      const std::vector<float> scores =
          scores_of(query, inputs.key, begin, std::min(begin + kTile, end));
      for (int visit = 0; visit < visits; ++visit) row.visit(scores, inputs.value, begin);
    }
    for (std::size_t d = 0; d < row.out.size(); ++d)
      write_real(outputs.out, offset_of(outputs.out, {0, 0, i, static_cast<std::int64_t>(d)}),
                 row.out[d] / row.sum);
    write_real(*outputs.lse, offset_of(*outputs.lse, {0, 0, i}), row.max + std::log(row.sum));
  }
}

}  // namespace tilewright::cases
