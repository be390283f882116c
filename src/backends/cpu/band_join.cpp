#include "backends/cpu/band_join.h"

#include <algorithm>
#include <span>

namespace tilewright::cpu {

namespace {

/// Both steps lie in one kv tile: the step over the keys of both.
KeyStep joined_step(const KeyStep& a, const KeyStep& b) {
  const auto begin = [](const KeyStep& step) { return step.kv_begin + step.col_begin; };
  const auto end = [](const KeyStep& step) { return step.kv_begin + step.col_end; };
  const bool is_same = begin(a) == begin(b) && end(a) == end(b);
  KeyStep step = a.kv_begin <= b.kv_begin ? a : b;
  step.col_begin = std::min(begin(a), begin(b)) - step.kv_begin;
  step.col_end = std::max(end(a), end(b)) - step.kv_begin;
  step.cols = step.col_end;
  step.masked = a.masked || b.masked || !is_same;
  return step;
}

class BandJoin {
 public:
  BandJoin(const ForwardCall& call, std::vector<KeyStep>& steps) : call_(call), steps_(steps) {}

  void run(std::vector<Band>& bands) {
    std::size_t kept = 0;
    for (std::size_t i = 1; i < bands.size(); ++i)
      if (!join(bands[kept], bands[i])) bands[++kept] = bands[i];
    bands.resize(kept + 1);
  }

 private:
  std::span<const KeyStep> steps_of(const Band& band) const {
    return {steps_.data() + band.step, band.end - band.step};
  }

  /// In pairs of a row and a key.
  std::int64_t cost(std::int64_t rows, std::span<const KeyStep> steps) const {
    const std::int64_t multiple = call_.kernel->column_multiple;
    std::int64_t cols = 0;
    for (const KeyStep& step : steps) cols += (step.cols + multiple - 1) / multiple * multiple;
    const std::int64_t unit = call_.row_unit;
    return (rows + unit - 1) / unit * unit * cols +
           static_cast<std::int64_t>(steps.size()) * call_.step_price_pairs;
  }

  bool join(Band& band, const Band& next) {
    const auto is_same = std::ranges::equal(steps_of(band), steps_of(next));
    if (!is_same) {
      list_joined(steps_of(band), steps_of(next));
      const std::int64_t apart = cost(band.rows, steps_of(band)) + cost(next.rows, steps_of(next));
      if (cost(band.rows + next.rows, joined_) > apart) return false;
      band.step = steps_.size();
      steps_.insert(steps_.end(), joined_.begin(), joined_.end());
      band.end = steps_.size();
    }
    band.rows += next.rows;
    return true;
  }

  /// Tile by tile; a tile that only one band visits is masked for the other's sake.
  void list_joined(std::span<const KeyStep> a, std::span<const KeyStep> b) {
    joined_.clear();
    const auto tile = [this](const KeyStep& step) { return step.kv_begin / call_.kv_tile_tokens; };
    while (!a.empty() || !b.empty()) {
      const bool takes_a = !a.empty() && (b.empty() || tile(a.front()) <= tile(b.front()));
      const bool takes_b = !b.empty() && (a.empty() || tile(b.front()) <= tile(a.front()));
      if (takes_a && takes_b) {
        joined_.push_back(joined_step(a.front(), b.front()));
      } else {
        joined_.push_back(takes_a ? a.front() : b.front());
        joined_.back().masked = true;
      }
      if (takes_a) a = a.subspan(1);
      if (takes_b) b = b.subspan(1);
    }
  }

  const ForwardCall& call_;
  std::vector<KeyStep>& steps_;
  std::vector<KeyStep> joined_;
};

}  // namespace

void join_bands(const ForwardCall& call, std::vector<Band>& bands, std::vector<KeyStep>& steps) {
  BandJoin(call, steps).run(bands);
}

}  // namespace tilewright::cpu
