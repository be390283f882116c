#include "backends/cpu/tile_interpreter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "backends/cpu/tile_interpreter_row.h"
#include "base/half.h"

namespace tilewright::cpu {

namespace {

std::vector<bool> nodes_of(const ir::Program& program, std::optional<ir::NodeId> root) {
  return root ? program.reachable_from(*root) : std::vector<bool>(program.size());
}

/// The pass over one tile; Real is the type of scores, MaskReal that of floats in mask_mod.
template <class Real, class MaskReal>
class TilePass {
 public:
  TilePass(const ir::Program& program, const PassVariant& variant, bool masked)
      : program_(program),
        prob_type_(variant.prob),
        masked_(masked && program.roots().mask.has_value()),
        mask_nodes_(nodes_of(program, program.roots().mask)),
        score_nodes_(nodes_of(program, program.roots().score)),
        mask_(program),
        score_(program) {}

  void run(const PassCall& call, const PassTile& tile) {
    for (std::int64_t row = 0; row < tile.rows; ++row) {
      const Real greatest = scores(call, tile, row);
      const Real shift = move_shift(tile, row, greatest);
      probabilities(tile, row, shift);
    }
  }

 private:
  static constexpr Real kDead = -std::numeric_limits<Real>::infinity();

  static Real* score_row(const PassTile& tile, std::int64_t row) {
    return static_cast<Real*>(tile.score) + row * tile.score_stride;
  }

  /// Leaves t in the score tile and returns its maximum; NaN never becomes the maximum.
  Real scores(const PassCall& call, const PassTile& tile, std::int64_t row) {
    Real greatest = kDead;
    for (std::int64_t column = tile.col_begin; column < tile.col_end;
         column += kInterpreterColumns) {
      const RowChunk chunk{.call = &call,
                           .tile = &tile,
                           .q = tile.q_begin + row,
                           .kv = tile.kv_begin + column,
                           .count = std::min(kInterpreterColumns, tile.col_end - column)};
      Real* const t = score_row(tile, row) + column;
      modify(chunk, t);
      for (std::int64_t i = 0; i < chunk.count; ++i)
        if (t[i] > greatest) greatest = t[i];
    }
    return greatest;
  }

  void modify(const RowChunk& chunk, Real* t) {
    const Real scale = static_cast<Real>(chunk.call->scale);
    for (std::int64_t i = 0; i < chunk.count; ++i) t[i] *= scale;
    const bool* live = nullptr;
    if (masked_) {
      mask_.evaluate(chunk, mask_nodes_, nullptr, nullptr);
      live = std::as_const(mask_).truths(*program_.roots().mask);
    }
    if (program_.roots().score) {
      score_.evaluate(chunk, score_nodes_, t, live);
      std::copy_n(score_.reals(*program_.roots().score), chunk.count, t);
    }
    for (std::int64_t i = 0; live != nullptr && i < chunk.count; ++i)
      if (!live[i]) t[i] = kDead;
  }

  /// The online softmax's step; returns what the exponents subtract.
  static Real move_shift(const PassTile& tile, std::int64_t row, Real greatest) {
    Real& max = static_cast<Real*>(tile.row_max)[row];
    Real& shift = static_cast<Real*>(tile.row_shift)[row];
    Real& alpha = static_cast<Real*>(tile.row_alpha)[row];
    alpha = 1;
    if (greatest > max) max = greatest;
    if (max - shift > Real(kLazyShift)) {
      alpha = std::exp(shift - max);
      shift = max;
    }
    static_cast<Real*>(tile.row_sum)[row] *= alpha;
    return shift == kDead ? Real(0) : shift;
  }

  void probabilities(const PassTile& tile, std::int64_t row, Real shift) const {
    const Real* const t = score_row(tile, row);
    Real sum = 0;
    for (std::int64_t column = 0; column < tile.prob_cols; ++column) {
      const bool is_inside = column >= tile.col_begin && column < tile.col_end;
      const Real p = is_inside ? std::exp(t[column] - shift) : Real(0);
      sum += p;
      store(tile, row * tile.prob_stride + column, p);
    }
    static_cast<Real*>(tile.row_sum)[row] += sum;
  }

  void store(const PassTile& tile, std::int64_t offset, Real p) const {
    switch (prob_type_) {
      case ProbType::kF32:
        static_cast<float*>(tile.prob)[offset] = static_cast<float>(p);
        return;
      case ProbType::kF64:
        static_cast<double*>(tile.prob)[offset] = static_cast<double>(p);
        return;
      case ProbType::kBF16:
        static_cast<std::uint16_t*>(tile.prob)[offset] = float_to_bf16(static_cast<float>(p));
        if (tile.exact_prob != nullptr) tile.exact_prob[offset] = static_cast<float>(p);
        return;
    }
  }

  const ir::Program& program_;
  ProbType prob_type_;
  bool masked_;
  std::vector<bool> mask_nodes_;
  std::vector<bool> score_nodes_;
  RowInterpreter<MaskReal> mask_;
  RowInterpreter<Real> score_;
};

template <class Real, class MaskReal>
LoadedPass::Run runner(std::shared_ptr<const ir::Program> program, const PassVariant& variant,
                       bool masked) {
  return
      [program = std::move(program), variant, masked](const PassCall* call, const PassTile* tile) {
        TilePass<Real, MaskReal>(*program, variant, masked).run(*call, *tile);
      };
}

LoadedPass::Run run_of(const std::shared_ptr<const ir::Program>& program,
                       const PassVariant& variant, bool masked) {
  if (program->mask_is_f64())
    return variant.is_f64 ? runner<double, double>(program, variant, masked)
                          : runner<float, double>(program, variant, masked);
  return variant.is_f64 ? runner<double, float>(program, variant, masked)
                        : runner<float, float>(program, variant, masked);
}

}  // namespace

std::shared_ptr<const LoadedPass> interpret_score_pass(const ir::Program& program,
                                                       const PassVariant& variant) {
  const auto kept = std::make_shared<const ir::Program>(program);
  auto pass = std::make_shared<LoadedPass>();
  pass->full = run_of(kept, variant, false);
  pass->masked = run_of(kept, variant, true);
  pass->description = "interpreted tile by tile: this build has no LLVM";
  return pass;
}

}  // namespace tilewright::cpu
