#include "backends/reference/forward.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "backends/contract/key_lengths.h"
#include "backends/reference/dense_rows.h"
#include "backends/reference/row_softmax.h"
#include "base/half.h"
#include "ir/interpret.h"
#include "tilewright/error.h"

namespace tilewright::reference {

namespace {

template <class F>
F modified_score(ir::Interpreter& interpreter, F score, const ir::Position& position) {
  if constexpr (std::is_same_v<F, double>)
    return interpreter.score(score, position);
  else
    return interpreter.score_f32(score, position);
}

/// The forward of one call in arithmetic F.
template <class F>
class DenseForward {
 public:
  DenseForward(const ForwardCall& call, const ForwardInputs& inputs, const ForwardOutputs& outputs)
      : call_(call),
        problem_(call.problem),
        inputs_(inputs),
        outputs_(outputs),
        interpreter_(call.program, call.bindings),
        scale_(static_cast<F>(call.problem.scale_or_default())),
        query_row_(static_cast<std::size_t>(call.problem.head_dim)),
        out_row_(static_cast<std::size_t>(call.problem.value_dim)) {}

  void run() {
    if (problem_.batch == 0) return;
    for (std::int64_t kv_b = 0; kv_b < problem_.kv_batch; ++kv_b)
      for (std::int64_t kv_h = 0; kv_h < problem_.kv_heads; ++kv_h) run_kv_head(kv_b, kv_h);
  }

 private:
  /// Every query head that reads this key and value head (R2).
  void run_kv_head(std::int64_t kv_b, std::int64_t kv_h) {
    key_ = read_head<F>(inputs_.key, kv_b, kv_h);
    value_ = read_head<F>(inputs_.value, kv_b, kv_h);
    const bool shared = problem_.kv_batch == 1;
    const std::int64_t b_begin = shared ? 0 : kv_b;
    const std::int64_t b_end = shared ? problem_.batch : kv_b + 1;
    const std::int64_t group = problem_.group();
    for (std::int64_t b = b_begin; b < b_end; ++b)
      for (std::int64_t h = kv_h * group; h < (kv_h + 1) * group; ++h)
        for (std::int64_t i = 0; i < problem_.q_len; ++i) run_row(b, h, i);
  }

  void run_row(std::int64_t b, std::int64_t h, std::int64_t i) {
    read_row(inputs_.query, {b, h, i}, query_row_.data());
    const std::int64_t keys = backends::key_length(call_.kv_lengths, problem_, b);
    scores_.resize(static_cast<std::size_t>(keys));
    for (std::int64_t j = 0; j < keys; ++j)
      scores_[static_cast<std::size_t>(j)] = score(b, h, i, j);
    const RowSoftmax<F> row = softmax_in_place(scores_);
    weigh(row);
    store(b, h, i, row);
  }

  /// t of a live pair (R1, R3), -inf for a dead one.
  F score(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
    constexpr F kDead = -std::numeric_limits<F>::infinity();
    const Listing listing = call_.listed ? call_.listed->at(b, h, i, j) : Listing::kPartial;
    if (listing == Listing::kAbsent) return kDead;
    const ir::Position position{b, h, problem_.q_base + i, problem_.kv_base + j};
    if (listing != Listing::kFull && !interpreter_.mask(position)) return kDead;
    const F s =
        scale_ * dot(query_row_.data(), key_.data() + j * problem_.head_dim, problem_.head_dim);
    return modified_score(interpreter_, s, position);
  }

  /// out = sum p * value over live pairs (R5). Sums are taken in blocks of keys, as a matrix
  /// product takes them, so that long rows do not drown in rounding.
  void weigh(const RowSoftmax<F>& row) {
    constexpr std::int64_t kBlock = 256;
    std::fill(out_row_.begin(), out_row_.end(), F{0});
    if (row.live_keys == 0) return;
    std::vector<F> block(out_row_.size());
    const auto keys = static_cast<std::int64_t>(scores_.size());
    for (std::int64_t begin = 0; begin < keys; begin += kBlock) {
      std::fill(block.begin(), block.end(), F{0});
      for (std::int64_t j = begin; j < std::min(begin + kBlock, keys); ++j)
        if (row.live[static_cast<std::size_t>(j)]) weigh_key(j, block);
      for (std::size_t d = 0; d < block.size(); ++d) out_row_[d] += block[d];
    }
  }

  void weigh_key(std::int64_t j, std::vector<F>& block) const {
    const F p = rounded_probability(scores_[static_cast<std::size_t>(j)]);
    const F* value = value_.data() + j * problem_.value_dim;
    for (std::size_t d = 0; d < block.size(); ++d) block[d] += p * value[d];
  }

  F rounded_probability(F p) const {
    if (call_.arithmetic == Arithmetic::kMeaning) return p;
    switch (problem_.query_dtype) {
      case DType::kF16:
        return f16_to_float(float_to_f16(static_cast<float>(p)));
      case DType::kBF16:
        return bf16_to_float(float_to_bf16(static_cast<float>(p)));
      default:
        return p;
    }
  }

  void store(std::int64_t b, std::int64_t h, std::int64_t i, const RowSoftmax<F>& row) const {
    const TensorView& out = outputs_.out;
    const std::int64_t begin = offset_of<3>(out, {b, h, i});
    for (std::int64_t d = 0; d < problem_.value_dim; ++d)
      write_real(out, begin + (out.shape[3] == 1 ? 0 : d * out.strides[3]),
                 out_row_[static_cast<std::size_t>(d)]);
    if (outputs_.lse) write_real(*outputs_.lse, offset_of<3>(*outputs_.lse, {b, h, i}), row.lse);
    if (outputs_.max_scores)
      write_real(*outputs_.max_scores, offset_of<3>(*outputs_.max_scores, {b, h, i}), row.max);
  }

  const ForwardCall& call_;
  const Problem& problem_;
  const ForwardInputs& inputs_;
  const ForwardOutputs& outputs_;
  ir::Interpreter interpreter_;
  F scale_;
  std::vector<F> key_, value_, query_row_, scores_, out_row_;
};

void require_dense(const Problem& problem) {
  if (problem.kv_layout == KvLayout::kDense) return;
  throw Error({.code = ErrorCode::kUnsupported,
               .what = "the reference backend reads dense keys and values only",
               .where = "key, value",
               .expected = "a dense layout",
               .got = "packed or paged",
               .hint = "call it once per sequence"});
}

}  // namespace

void forward(const ForwardCall& call, const ForwardInputs& inputs, const ForwardOutputs& outputs) {
  require_dense(call.problem);
  const bool plain = call.arithmetic == Arithmetic::kPlain;
  if (plain && call.problem.query_dtype != DType::kF64)
    DenseForward<float>(call, inputs, outputs).run();
  else
    DenseForward<double>(call, inputs, outputs).run();
}

}  // namespace tilewright::reference
