#include "analyse/tile_class.h"

#include <array>
#include <utility>

#include "analyse/tape_evaluator.h"
#include "analyse/tile_reason.h"
#include "ir/interpret.h"

namespace tilewright::analyse {

namespace {

TileClass class_of(TruthRange truth) {
  if (truth.is_true()) return TileClass::kFull;
  return truth.is_false() ? TileClass::kEmpty : TileClass::kPartial;
}

/// A rectangle in inclusive ranges.
struct Part {
  IntRange q;
  IntRange kv;
};

std::int64_t size(IntRange range) { return range.high - range.low + 1; }
std::int64_t area(const Part& part) { return size(part.q) * size(part.kv); }

std::pair<IntRange, IntRange> halves(IntRange range) {
  const std::int64_t middle = range.low + (range.high - range.low) / 2;
  return {{range.low, middle}, {middle + 1, range.high}};
}

TileClass evaluate(TapeEvaluator& evaluator, const Part& part) {
  evaluator.set_rows(part.q);
  return class_of(evaluator.over_keys(part.kv));
}

/// A part cut in two, both halves classified.
struct Split {
  std::array<Part, 2> parts;
  std::array<TileClass, 2> classes;
  bool decides() const {
    return classes[0] != TileClass::kPartial || classes[1] != TileClass::kPartial;
  }
};

Split split_keys(TapeEvaluator& evaluator, const Part& part) {
  const auto [low, high] = halves(part.kv);
  evaluator.set_rows(part.q);
  Split split{.parts = {Part{part.q, low}, Part{part.q, high}}, .classes = {}};
  split.classes = {class_of(evaluator.over_keys(low)), class_of(evaluator.over_keys(high))};
  return split;
}

Split split_rows(TapeEvaluator& evaluator, const Part& part) {
  const auto [low, high] = halves(part.q);
  Split split{.parts = {Part{low, part.kv}, Part{high, part.kv}}, .classes = {}};
  for (std::size_t i = 0; i < 2; ++i) split.classes[i] = evaluate(evaluator, split.parts[i]);
  return split;
}

/// Cuts a part along the axis where a half becomes decided, else along the longer one.
Split best_split(TapeEvaluator& evaluator, const Part& part, int& evaluations) {
  const bool keys_first = size(part.kv) >= size(part.q);
  evaluations += 2;
  const Split first = keys_first ? split_keys(evaluator, part) : split_rows(evaluator, part);
  const bool can_turn = size(keys_first ? part.q : part.kv) > 1;
  if (first.decides() || !can_turn) return first;
  evaluations += 2;
  const Split second = keys_first ? split_rows(evaluator, part) : split_keys(evaluator, part);
  return second.decides() ? second : first;
}

Part part_of(const TileRange& tile) {
  return {{tile.q.begin, tile.q.end - 1}, {tile.kv.begin, tile.kv.end - 1}};
}

/// Splits an open tile until it is seen to hold both live and dead pairs, or is resolved.
class Resolver {
 public:
  explicit Resolver(TapeEvaluator& evaluator) : evaluator_(evaluator) {}

  TileClass resolve(const Part& whole) {
    push(whole);
    while (count_ > 0 && !(live_ && dead_)) {
      const Part part = open_[--count_];
      if (area(part) == 1 || evaluations_ >= TileClassifier::kMaxEvaluations)
        return TileClass::kPartial;
      const Split split = best_split(evaluator_, part, evaluations_);
      for (std::size_t i = 0; i < 2; ++i) take(split.parts[i], split.classes[i]);
    }
    if (live_ && dead_) return TileClass::kPartial;
    return live_ ? TileClass::kFull : TileClass::kEmpty;
  }

  int evaluations() const { return evaluations_; }

 private:
  void take(const Part& part, TileClass found) {
    live_ |= found == TileClass::kFull;
    dead_ |= found == TileClass::kEmpty;
    if (found == TileClass::kPartial) push(part);
  }

  /// Depth first, so the stack holds one part a level, and an int64 halves at most 64 times an
  /// axis.
  void push(const Part& part) { open_[count_++] = part; }

  TapeEvaluator& evaluator_;
  std::array<Part, 132> open_;
  std::size_t count_ = 0;
  int evaluations_ = 0;
  bool live_ = false;
  bool dead_ = false;
};

}  // namespace

struct TileClassifier::State {
  const ir::Program& program;
  const ir::Bindings& bindings;
  std::optional<MaskTape> tape;
};

TileClassifier::TileClassifier(const ir::Program& program, const ir::Bindings& bindings)
    : state_(new State{program, bindings, std::nullopt}) {
  if (program.roots().mask) state_->tape = mask_tape(program, bindings);
}
TileClassifier::~TileClassifier() = default;
TileClassifier::TileClassifier(TileClassifier&&) noexcept = default;
TileClassifier& TileClassifier::operator=(TileClassifier&&) noexcept = default;

const MaskTape* TileClassifier::tape() const noexcept {
  return state_->tape ? &*state_->tape : nullptr;
}

std::size_t TileClassifier::bytes() const noexcept {
  return sizeof(State) + (state_->tape ? state_->tape->bytes() : 0);
}

TileClass TileClassifier::classify_once(const TileRange& tile) const {
  if (tile.q.size() <= 0 || tile.kv.size() <= 0) return TileClass::kEmpty;
  if (!state_->tape) return TileClass::kFull;
  TapeEvaluator evaluator(*state_->tape);
  evaluator.set_head(tile.b, tile.h);
  return evaluate(evaluator, part_of(tile));
}

TileClass TileClassifier::classify(const TileRange& tile) const {
  if (tile.q.size() <= 0 || tile.kv.size() <= 0) return TileClass::kEmpty;
  if (!state_->tape) return TileClass::kFull;
  TapeEvaluator evaluator(*state_->tape);
  evaluator.set_head(tile.b, tile.h);
  const Part whole = part_of(tile);
  const TileClass once = evaluate(evaluator, whole);
  return once == TileClass::kPartial ? Resolver(evaluator).resolve(whole) : once;
}

TileClass TileClassifier::classify(const TileRange& tile, std::string& reason) const {
  reason.clear();
  if (tile.q.size() <= 0 || tile.kv.size() <= 0) {
    reason = "the tile has no pairs";
    return TileClass::kEmpty;
  }
  if (!state_->tape) {
    reason = "there is no mask_mod";
    return TileClass::kFull;
  }
  TapeEvaluator evaluator(*state_->tape);
  evaluator.set_head(tile.b, tile.h);
  const Part whole = part_of(tile);
  const TileClass once = evaluate(evaluator, whole);
  reason = tile_reason(state_->program, *state_->tape, evaluator);
  if (once != TileClass::kPartial) return once;
  Resolver resolver(evaluator);
  const TileClass found = resolver.resolve(whole);
  if (found == TileClass::kPartial) return found;
  reason = std::string(found == TileClass::kFull ? "full" : "empty") + " after splitting it, " +
           std::to_string(resolver.evaluations()) + " evaluations; as a whole open: " + reason;
  return found;
}

std::int64_t TileClassifier::live_pairs(const TileRange& tile) const {
  if (tile.q.size() <= 0 || tile.kv.size() <= 0) return 0;
  if (!state_->tape) return tile.q.size() * tile.kv.size();
  TapeEvaluator evaluator(*state_->tape);
  evaluator.set_head(tile.b, tile.h);
  // A pair that rounding margins leave open is asked of the meaning itself.
  ir::Interpreter interpreter(state_->program, state_->bindings);
  std::int64_t live = 0;
  int evaluations = 0;
  std::vector<Part> open;
  const auto take = [&](const Part& part, TileClass found) {
    if (found == TileClass::kFull) live += area(part);
    if (found != TileClass::kPartial) return;
    if (area(part) > 1)
      open.push_back(part);
    else if (interpreter.mask({tile.b, tile.h, part.q.low, part.kv.low}))
      ++live;
  };
  take(part_of(tile), evaluate(evaluator, part_of(tile)));
  while (!open.empty()) {
    const Part part = open.back();
    open.pop_back();
    const Split split = best_split(evaluator, part, evaluations);
    for (std::size_t i = 0; i < 2; ++i) take(split.parts[i], split.classes[i]);
  }
  return live;
}

}  // namespace tilewright::analyse
