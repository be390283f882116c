#include "backends_cpu/plain_pass.h"

#include <cmath>
#include <limits>

#include "base/half.h"
#include "ir/interpret.h"

namespace tilewright::cpu {

namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();
const float kLag = 8 * std::log(2.0F);

struct RowStatistics {
  float& max;
  float& shift;
  float& sum;
  float& alpha;
};

void advance(RowStatistics row, float row_max) {
  row.max = row_max > row.max ? row_max : row.max;
  row.alpha = 1;
  if (row.max == kNone) return;
  if (row.shift != kNone && row.max - row.shift <= kLag) return;
  row.alpha = row.shift == kNone ? 1 : std::exp(row.shift - row.max);
  row.shift = row.max;
}

void run_row(ir::Interpreter& meaning, const PassCall& call, const PassTile& tile, std::int64_t r,
             bool masked) {
  float* const score = static_cast<float*>(tile.score) + r * tile.score_stride;
  float row_max = kNone;
  for (std::int64_t c = tile.col_begin; c < tile.col_end; ++c) {
    const ir::Position at{tile.b, tile.h, tile.q_begin + r, tile.kv_begin + c};
    const bool live = !masked || meaning.mask(at);
    score[c] =
        live ? static_cast<float>(meaning.score(static_cast<float>(call.scale) * score[c], at))
             : kNone;
    row_max = score[c] > row_max ? score[c] : row_max;
  }
  const RowStatistics row{
      static_cast<float*>(tile.row_max)[r], static_cast<float*>(tile.row_shift)[r],
      static_cast<float*>(tile.row_sum)[r], static_cast<float*>(tile.row_alpha)[r]};
  advance(row, row_max);
  float* const prob = static_cast<float*>(tile.prob) + r * tile.prob_stride;
  float sum = 0;
  for (std::int64_t c = 0; c < tile.prob_cols; ++c) {
    const bool inside = c >= tile.col_begin && c < tile.col_end && score[c] != kNone;
    prob[c] = inside ? std::exp(score[c] - row.shift) : 0.0F;
    sum += prob[c];
  }
  row.sum = row.sum * row.alpha + sum;
}

}  // namespace

LoadedPass plain_pass(const ir::Program& program, const ir::Bindings& bindings) {
  const auto run = [&program, &bindings](const PassCall* call, const PassTile* tile, bool masked) {
    ir::Interpreter meaning(program, bindings);
    for (std::int64_t r = 0; r < tile->rows; ++r) run_row(meaning, *call, *tile, r, masked);
  };
  LoadedPass pass;
  pass.full = [run](const PassCall* call, const PassTile* tile) { run(call, tile, false); };
  pass.masked = [run](const PassCall* call, const PassTile* tile) { run(call, tile, true); };
  pass.description = "plain";
  return pass;
}

}  // namespace tilewright::cpu
