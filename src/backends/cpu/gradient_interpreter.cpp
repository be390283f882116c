#include "backends/cpu/gradient_interpreter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "backends/cpu/gradient_pass.h"
#include "backends/cpu/tile_interpreter_row.h"
#include "base/half.h"

namespace tilewright::cpu {

namespace {

using ir::NodeId;

std::vector<bool> mask_nodes_of(const ir::Program& program) {
  return program.roots().mask ? program.reachable_from(*program.roots().mask)
                              : std::vector<bool>(program.size());
}

/// Everything that the score and its derivatives need.
std::vector<bool> score_nodes_of(const ir::Program& program) {
  std::vector<NodeId> roots = program.roots().derivatives;
  if (program.roots().score) roots.push_back(*program.roots().score);
  std::vector<bool> nodes(program.size());
  for (const NodeId root : roots) {
    const std::vector<bool> reachable = program.reachable_from(root);
    for (NodeId id = 0; id < program.size(); ++id) nodes[id] = nodes[id] || reachable[id];
  }
  return nodes;
}

/// The pass over one tile; Real is the type of scores, MaskReal that of floats in mask_mod.
template <class Real, class MaskReal>
class GradientPass {
 public:
  GradientPass(const ir::Derivative& derivative, const PassVariant& variant, bool masked)
      : derivative_(derivative),
        program_(*derivative.program),
        prob_type_(variant.prob),
        masked_(masked && program_.roots().mask.has_value()),
        mask_nodes_(mask_nodes_of(program_)),
        score_nodes_(score_nodes_of(program_)),
        mask_(program_),
        score_(program_),
        t_(static_cast<std::size_t>(kInterpreterColumns)) {}

  void run(const PassCall& call, const GradientTile& tile) {
    const PassTile& pass = tile.pass;
    for (std::int64_t row = 0; row < pass.rows; ++row) {
      zero(tile, row, 0, pass.col_begin);
      for (std::int64_t column = pass.col_begin; column < pass.col_end;
           column += kInterpreterColumns)
        run_chunk({.call = &call,
                   .tile = &pass,
                   .q = pass.q_begin + row,
                   .kv = pass.kv_begin + column,
                   .count = std::min(kInterpreterColumns, pass.col_end - column)},
                  tile, row, column);
      zero(tile, row, std::max(pass.col_begin, pass.col_end), pass.prob_cols);
    }
  }

 private:
  static constexpr Real kDead = -std::numeric_limits<Real>::infinity();

  void zero(const GradientTile& tile, std::int64_t row, std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) {
      store(tile.pass.prob, row * tile.pass.prob_stride + c, Real(0));
      if (derivative_.d_score) store(tile.d_score, row * tile.pass.prob_stride + c, Real(0));
    }
  }

  void run_chunk(const RowChunk& chunk, const GradientTile& tile, std::int64_t row,
                 std::int64_t column) {
    const Real* const raw =
        static_cast<const Real*>(tile.pass.score) + row * tile.pass.score_stride + column;
    const Real scale = static_cast<Real>(chunk.call->scale);
    for (std::int64_t i = 0; i < chunk.count; ++i) t_[at(i)] = raw[i] * scale;
    const bool* live = nullptr;
    if (masked_) {
      mask_.evaluate(chunk, mask_nodes_, nullptr, nullptr);
      live = std::as_const(mask_).truths(*program_.roots().mask);
    }
    score_.evaluate(chunk, score_nodes_, t_.data(), live);
    if (program_.roots().score)
      std::copy_n(score_.reals(*program_.roots().score), chunk.count, t_.data());
    for (std::int64_t i = 0; live != nullptr && i < chunk.count; ++i)
      if (!live[i]) t_[at(i)] = kDead;
    for (std::int64_t i = 0; i < chunk.count; ++i) run_pair(chunk, tile, {row, column, i});
  }

  struct Place {
    std::int64_t row;
    std::int64_t column;
    std::int64_t i;  ///< within the chunk
  };

  void run_pair(const RowChunk& chunk, const GradientTile& tile, const Place& place) {
    const Real t = t_[at(place.i)];
    const bool is_live = t != kDead;
    const std::int64_t column = place.column + place.i;
    const std::int64_t prob_at = place.row * tile.pass.prob_stride + column;
    const std::int64_t score_at = place.row * tile.pass.score_stride + column;
    const Real p =
        is_live ? std::exp(t - static_cast<const Real*>(tile.row_lse)[place.row]) : Real(0);
    const bool has_derivative = derivative_.d_score || !derivative_.loads.empty();
    Real d_t = 0;
    // dP is read before dS is written: they may share memory.
    if (is_live && has_derivative)
      d_t = p * (static_cast<const Real*>(tile.d_prob)[score_at] -
                 static_cast<const Real*>(tile.row_delta)[place.row]);
    store(tile.pass.prob, prob_at, p);
    if (derivative_.d_score)
      store(tile.d_score, prob_at,
            is_live ? d_t * score_.reals(*derivative_.d_score)[place.i] : Real(0));
    if (!is_live) return;
    for (const ir::LoadDerivative& load : derivative_.loads)
      add(chunk, tile, load, d_t * score_.reals(load.factor)[place.i], place.i);
  }

  /// The sums are row-major whatever the strides of the captured tensor.
  void add(const RowChunk& chunk, const GradientTile& tile, const ir::LoadDerivative& load,
           Real value, std::int64_t i) {
    const auto operands = program_.operands(load.load);
    if (!std::as_const(score_).truths(operands.back())[i]) return;
    const PassCapture& capture = chunk.call->captures[load.capture];
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis + 1 < operands.size(); ++axis) {
      const std::int64_t extent = capture.extents[axis];
      std::int64_t index = score_.integers(operands[axis])[i];
      if (index < 0) index += extent;
      if (index < 0 || index >= extent) return;
      offset = offset * extent + index;
    }
    static_cast<Real*>(tile.capture_sums[load.capture])[offset] += value;
  }

  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  void store(void* tile, std::int64_t offset, Real value) const {
    switch (prob_type_) {
      case ProbType::kF32:
        static_cast<float*>(tile)[offset] = static_cast<float>(value);
        return;
      case ProbType::kF64:
        static_cast<double*>(tile)[offset] = static_cast<double>(value);
        return;
      case ProbType::kBF16:
        static_cast<std::uint16_t*>(tile)[offset] = float_to_bf16(static_cast<float>(value));
        return;
    }
  }

  const ir::Derivative& derivative_;
  const ir::Program& program_;
  ProbType prob_type_;
  bool masked_;
  std::vector<bool> mask_nodes_;
  std::vector<bool> score_nodes_;
  RowInterpreter<MaskReal> mask_;
  RowInterpreter<Real> score_;
  std::vector<Real> t_;
};

template <class Real, class MaskReal>
LoadedPass::Run runner(std::shared_ptr<const ir::Derivative> derivative, const PassVariant& variant,
                       bool masked) {
  return [derivative = std::move(derivative), variant, masked](const PassCall* call,
                                                               const PassTile* tile) {
    // The first member of a GradientTile is its PassTile.
    GradientPass<Real, MaskReal>(*derivative, variant, masked)
        .run(*call, *reinterpret_cast<const GradientTile*>(tile));
  };
}

LoadedPass::Run run_of(const std::shared_ptr<const ir::Derivative>& derivative,
                       const PassVariant& variant, bool masked) {
  if (derivative->program->mask_is_f64())
    return variant.is_f64 ? runner<double, double>(derivative, variant, masked)
                          : runner<float, double>(derivative, variant, masked);
  return variant.is_f64 ? runner<double, float>(derivative, variant, masked)
                        : runner<float, float>(derivative, variant, masked);
}

}  // namespace

std::shared_ptr<const LoadedPass> interpret_gradient_pass(const ir::Derivative& derivative,
                                                          const PassVariant& variant) {
  const auto kept = std::make_shared<const ir::Derivative>(derivative);
  auto pass = std::make_shared<LoadedPass>();
  pass->full = run_of(kept, variant, false);
  pass->masked = run_of(kept, variant, true);
  pass->description = "interpreted tile by tile: this build has no LLVM";
  return pass;
}

}  // namespace tilewright::cpu
