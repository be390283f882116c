#pragma once

#include <cstdint>
#include <vector>

#include "analyse/tape_evaluator.h"
#include "tilewright/mask_map.h"

namespace tilewright::analyse {

/// Finds the spans of one query block after another by bisection over keys.
///
/// The cuts of the block before, moved as far as they moved last time, are tried first, so a block
/// like the last one costs a few evaluations a span. Where a guess fails, pieces are cut off the
/// ends in doubling sizes and halved down to a grain of one query block,
/// unless sampled keys are all partial; then the edges of what is
/// partial are moved inwards token by token, in doubling steps. A block costs at most
/// kEvaluationsPerBlock + kEvaluationsPerSpan a span; what is left then counts as partial.
class SpanSearch {
 public:
  static constexpr int kEvaluationsPerBlock = 64;
  static constexpr int kEvaluationsPerSpan = 8;

  /// `keys` are logical and not empty; `q_block` is in tokens.
  SpanSearch(TapeEvaluator& evaluator, IntRange keys, std::int64_t q_block);

  /// Spans over logical keys, sorted, disjoint; neighbours of one kind are one span. Valid until
  /// the next call.
  const std::vector<Span>& next(IntRange q);

  /// Forgets the guesses, before another head.
  void restart();

  int evaluations() const noexcept { return evaluations_; }      ///< of the last block
  bool is_over_budget() const noexcept { return over_budget_; }  ///< of the last block

 private:
  struct Piece {
    std::int64_t begin;
    std::int64_t end;
    int level;  ///< how often its ends were cut off already
  };

  TileClass classify(std::int64_t begin, std::int64_t end);
  bool may_evaluate();
  void push_guessed_pieces();
  void examine(const Piece& piece);
  bool looks_partial(const Piece& piece);
  void split(const Piece& piece);
  void keep(std::int64_t begin, std::int64_t end, bool full);
  static void merge(std::vector<Span>& spans);
  void trim();
  void trim_front(Span& span);
  void trim_back(Span& span);
  std::int64_t pure_until(std::int64_t begin, std::int64_t end, TileClass pure);
  std::int64_t pure_from(std::int64_t begin, std::int64_t end, TileClass pure);
  void guess_next();

  TapeEvaluator& evaluator_;
  std::int64_t begin_;
  std::int64_t end_;
  std::int64_t grain_;
  std::int64_t step_;
  std::vector<Piece> pieces_;  ///< a queue: large pieces come first
  std::size_t head_ = 0;
  std::vector<Span> spans_;
  std::vector<Span> trimmed_;
  std::vector<std::int64_t> cuts_;   ///< of the last block
  std::vector<std::int64_t> moves_;  ///< how far each of them moved
  std::vector<std::int64_t> guesses_;
  int evaluations_ = 0;
  int budget_ = 0;
  bool over_budget_ = false;
};

}  // namespace tilewright::analyse
