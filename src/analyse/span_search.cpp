#include "analyse/span_search.h"

#include <algorithm>

namespace tilewright::analyse {

namespace {

constexpr std::int64_t kMaxSamples = 8;

}  // namespace

SpanSearch::SpanSearch(TapeEvaluator& evaluator, IntRange keys, std::int64_t q_block)
    : evaluator_(evaluator),
      begin_(keys.low),
      end_(keys.high + 1),
      grain_(std::max<std::int64_t>(q_block, 16)),
      step_(q_block) {}

void SpanSearch::restart() {
  cuts_.clear();
  moves_.clear();
  guesses_.clear();
}

const std::vector<Span>& SpanSearch::next(IntRange q) {
  evaluator_.set_rows(q);
  evaluations_ = 0;
  budget_ = kEvaluationsPerBlock;
  over_budget_ = false;
  spans_.clear();
  push_guessed_pieces();
  for (head_ = 0; head_ < pieces_.size();) examine(pieces_[head_++]);
  merge(spans_);
  trim();
  guess_next();
  return spans_;
}

TileClass SpanSearch::classify(std::int64_t begin, std::int64_t end) {
  ++evaluations_;
  const TruthRange truth = evaluator_.over_keys({begin, end - 1});
  if (truth.is_true()) return TileClass::kFull;
  return truth.is_false() ? TileClass::kEmpty : TileClass::kPartial;
}

/// Whether the budget allows one more evaluation. It grows with the spans that are certain: those
/// that stay apart even if every open piece turns out partial.
bool SpanSearch::may_evaluate() {
  if (over_budget_) return false;
  if (evaluations_ < budget_) return true;
  trimmed_ = spans_;
  for (std::size_t i = head_ - 1; i < pieces_.size(); ++i)
    trimmed_.push_back({.kv_begin = pieces_[i].begin, .kv_end = pieces_[i].end});
  merge(trimmed_);
  budget_ = std::max(
      budget_, kEvaluationsPerBlock + kEvaluationsPerSpan * static_cast<int>(trimmed_.size()));
  over_budget_ = evaluations_ >= budget_;
  return !over_budget_;
}

void SpanSearch::push_guessed_pieces() {
  pieces_.clear();
  std::int64_t from = begin_;
  for (const std::int64_t cut : guesses_) {
    if (cut <= from || cut >= end_) continue;
    pieces_.push_back({from, cut, 0});
    from = cut;
  }
  pieces_.push_back({from, end_, 0});
}

void SpanSearch::examine(const Piece& at) {
  const Piece piece = at;  // the queue may move
  if (!may_evaluate()) return keep(piece.begin, piece.end, false);
  const TileClass found = classify(piece.begin, piece.end);
  if (found == TileClass::kEmpty) return;
  if (found == TileClass::kFull) return keep(piece.begin, piece.end, true);
  if (piece.end - piece.begin <= grain_ || looks_partial(piece))
    return keep(piece.begin, piece.end, false);
  split(piece);
}

/// Whether single keys spread over a piece are all partial. Looking further into it would most
/// likely find nothing else: a row block that crosses documents is partial all over both.
bool SpanSearch::looks_partial(const Piece& piece) {
  const std::int64_t size = piece.end - piece.begin;
  const std::int64_t samples = std::min(size / grain_, kMaxSamples);
  if (samples < 2) return false;
  for (std::int64_t i = 0; i < samples && may_evaluate(); ++i) {
    const std::int64_t key = piece.begin + size / (2 * samples) + i * (size / samples);
    if (classify(key, key + 1) != TileClass::kPartial) return false;
  }
  return true;
}

/// Cuts the ends off, since a failed guess is mostly near; halves what is left of short pieces.
void SpanSearch::split(const Piece& piece) {
  const std::int64_t cut = grain_ << std::min(piece.level, 40);
  const std::int64_t size = piece.end - piece.begin;
  if (size > 4 * cut) {
    pieces_.push_back({piece.begin, piece.begin + cut, 0});
    pieces_.push_back({piece.begin + cut, piece.end - cut, piece.level + 1});
    pieces_.push_back({piece.end - cut, piece.end, 0});
    return;
  }
  const std::int64_t middle = piece.begin + size / 2;
  pieces_.push_back({piece.begin, middle, piece.level});
  pieces_.push_back({middle, piece.end, piece.level});
}

void SpanSearch::keep(std::int64_t begin, std::int64_t end, bool full) {
  if (begin < end) spans_.push_back({.kv_begin = begin, .kv_end = end, .full = full});
}

/// Sorts spans and joins neighbours of one kind.
void SpanSearch::merge(std::vector<Span>& spans) {
  std::ranges::sort(spans, {}, &Span::kv_begin);
  std::size_t count = 0;
  for (const Span& span : spans) {
    if (count > 0 && spans[count - 1].kv_end == span.kv_begin && spans[count - 1].full == span.full)
      spans[count - 1].kv_end = span.kv_end;
    else
      spans[count++] = span;
  }
  spans.resize(count);
}

/// Moves the edges of partial spans inwards past keys that are wholly live or dead.
void SpanSearch::trim() {
  budget_ = std::max(budget_,
                     kEvaluationsPerBlock + kEvaluationsPerSpan * static_cast<int>(spans_.size()));
  trimmed_ = spans_;
  spans_.clear();
  for (Span span : trimmed_) {
    if (!span.full) {
      trim_front(span);
      trim_back(span);
    }
    keep(span.kv_begin, span.kv_end, span.full);
  }
  merge(spans_);
}

void SpanSearch::trim_front(Span& span) {
  // Dead keys may be followed by live ones before a key is partial, or the other way round.
  for (int turn = 0; turn < 2 && span.kv_begin < span.kv_end; ++turn) {
    if (evaluations_ >= budget_) return;
    const TileClass first = classify(span.kv_begin, span.kv_begin + 1);
    if (first == TileClass::kPartial) return;
    const std::int64_t until = pure_until(span.kv_begin, span.kv_end, first);
    if (first == TileClass::kFull) keep(span.kv_begin, until, true);
    span.kv_begin = until;
  }
}

void SpanSearch::trim_back(Span& span) {
  for (int turn = 0; turn < 2 && span.kv_begin < span.kv_end; ++turn) {
    if (evaluations_ >= budget_) return;
    const TileClass last = classify(span.kv_end - 1, span.kv_end);
    if (last == TileClass::kPartial) return;
    const std::int64_t from = pure_from(span.kv_begin, span.kv_end, last);
    if (last == TileClass::kFull) keep(from, span.kv_end, true);
    span.kv_end = from;
  }
}

/// The furthest end found such that [begin, end) is pure; its first key is.
std::int64_t SpanSearch::pure_until(std::int64_t begin, std::int64_t end, TileClass pure) {
  std::int64_t at = begin + 1;
  std::int64_t step = 1;
  bool growing = true;
  while (step > 0 && evaluations_ < budget_) {
    const bool fits = at + step <= end && classify(at, at + step) == pure;
    if (fits) at += step;
    growing = growing && fits;
    step = growing ? step * 2 : step / 2;
  }
  return at;
}

std::int64_t SpanSearch::pure_from(std::int64_t begin, std::int64_t end, TileClass pure) {
  std::int64_t at = end - 1;
  std::int64_t step = 1;
  bool growing = true;
  while (step > 0 && evaluations_ < budget_) {
    const bool fits = at - step >= begin && classify(at - step, at) == pure;
    if (fits) at -= step;
    growing = growing && fits;
    step = growing ? step * 2 : step / 2;
  }
  return at;
}

/// Cuts that moved with the rows, or as far as the time before, are expected to move on.
void SpanSearch::guess_next() {
  guesses_.clear();
  for (const Span& span : spans_) {
    if (guesses_.empty() || guesses_.back() != span.kv_begin) guesses_.push_back(span.kv_begin);
    guesses_.push_back(span.kv_end);
  }
  const bool same_shape = guesses_.size() == cuts_.size();
  moves_.resize(guesses_.size(), 0);
  for (std::size_t i = 0; i < guesses_.size(); ++i) {
    const std::int64_t move = same_shape ? guesses_[i] - cuts_[i] : 0;
    const bool goes_on = move == step_ || move == moves_[i];
    moves_[i] = move;
    if (same_shape) cuts_[i] = guesses_[i];
    if (goes_on) guesses_[i] += move;
  }
  if (!same_shape) {
    cuts_ = guesses_;
    std::ranges::fill(moves_, 0);
  }
  std::ranges::sort(guesses_);
}

}  // namespace tilewright::analyse
