#include "analyse/pair_counter.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "analyse/row_intervals.h"
#include "analyse/sorted_search.h"
#include "analyse/table_range.h"
#include "analyse/tape_evaluator.h"
#include "analyse/value_ranges.h"
#include "base/element.h"

namespace tilewright::analyse {

using ir::NodeId;

namespace {

/// Further out a sum of two positions could wrap.
constexpr IntRange kSafe{-(std::int64_t{1} << 62), std::int64_t{1} << 62};

IntRange inclusive(TokenRange range) { return {range.begin, range.end - 1}; }

/// Row intervals of one program with its numbers, ready to be evaluated.
struct RowBounds {
  RowIntervals intervals;
  ir::Bindings bindings;
  std::size_t first_row_number = 0;
  MaskTape run_tape;    ///< per run: value, shift, then its other subscripts
  MaskTape bound_tape;  ///< per range: begin, end
};

/// Why the bindings do not bear out the derivation; empty if they do.
std::string objection(const RowBounds& bounds, const TileRange& domain) {
  const ir::Program& program = bounds.intervals.program;
  const std::vector<bool> tells = captures_that_reach_integers(program);
  std::vector<std::optional<Interval>> tables(bounds.bindings.captures.size());
  const CaptureRange content = [&](std::uint32_t capture) {
    const TensorView& view = bounds.bindings.captures[capture];
    if (!tables[capture])
      tables[capture] = tells[capture] ? table_range(view) : dtype_range(view.dtype);
    return *tables[capture];
  };
  const auto ranges = value_ranges(program, bounds.bindings,
                                   {.b = {0, domain.b},
                                    .h = {0, domain.h},
                                    .q = inclusive(domain.q),
                                    .kv = inclusive(domain.kv)},
                                   content);
  for (NodeId id = 0; id < program.size(); ++id) {
    const IntRange range = ranges[id].integer;
    if (program.node(id).type == ir::Type::kInt &&
        (range.low < kSafe.low || range.high > kSafe.high))
      return "%" + std::to_string(id) + " may wrap";
  }
  for (const NodeId id : bounds.intervals.positive)
    if (ranges[id].integer.low <= 0) return "%" + std::to_string(id) + " may be 0 or less";
  for (const NodeId id : bounds.intervals.not_negative)
    if (ranges[id].integer.low < 0) return "%" + std::to_string(id) + " may be negative";
  for (const SortedRun& run : bounds.intervals.runs)
    if (!every_line_ascends(bounds.bindings.captures[run.capture], run.axis))
      return "'" + program.captures()[run.capture].name + "' does not ascend";
  return {};
}

RowBounds row_bounds(RowIntervals found, const ir::Bindings& bindings) {
  RowBounds bounds;
  bounds.intervals = std::move(found);
  bounds.bindings = bindings;
  bounds.first_row_number = bindings.numbers.size();
  bounds.bindings.numbers.resize(bounds.intervals.program.numbers().size());
  std::vector<NodeId> inputs;
  for (const SortedRun& run : bounds.intervals.runs) {
    inputs.push_back(run.value);
    inputs.push_back(run.shift);
    inputs.insert(inputs.end(), run.indices.begin(), run.indices.end());
  }
  std::vector<NodeId> ends;
  for (const KeyRange& range : bounds.intervals.ranges) {
    ends.push_back(range.begin);
    ends.push_back(range.end);
  }
  const ir::Program& program = bounds.intervals.program;
  bounds.run_tape = flat_tape(program, bounds.bindings, inputs, bounds.first_row_number);
  bounds.bound_tape = flat_tape(program, bounds.bindings, ends, bounds.first_row_number);
  return bounds;
}

/// Evaluates the ranges of one row after another.
class RowCounter {
 public:
  explicit RowCounter(const RowBounds& bounds)
      : bounds_(bounds),
        run_inputs_(bounds.run_tape),
        ends_(bounds.bound_tape),
        row_numbers_(2 * bounds.intervals.runs.size(), 0),
        found_(bounds.intervals.runs.size()) {
    ends_.set_row_numbers(row_numbers_);
  }

  void set_head(std::int64_t b, std::int64_t h) {
    run_inputs_.set_head(b, h);
    ends_.set_head(b, h);
  }

  /// Live keys of one row among `keys`; absent where a bound is not one number.
  std::optional<std::int64_t> count(std::int64_t q, TokenRange keys) {
    if (!bounds_.intervals.runs.empty() && !find_runs(q, keys)) return std::nullopt;
    ends_.set_rows(single(q));
    ranges_.clear();
    const std::vector<MaskTape::Operand>& results = bounds_.bound_tape.results;
    for (std::size_t i = 0; i < results.size(); i += 2) {
      const IntRange begin = ends_.value(results[i]).integer;
      const IntRange end = ends_.value(results[i + 1]).integer;
      if (!begin.is_single() || !end.is_single()) return std::nullopt;
      const TokenRange range{std::max(begin.low, keys.begin), std::min(end.low, keys.end)};
      if (range.begin < range.end) ranges_.push_back(range);
    }
    return covered();
  }

 private:
  /// A search with the result it had, since neighbouring rows mostly ask the same.
  struct Found {
    std::int64_t value = 0;
    std::int64_t offset = 0;
    TokenRange within;
    TokenRange entries;
    bool valid = false;
  };

  bool find_runs(std::int64_t q, TokenRange keys) {
    run_inputs_.set_rows(single(q));
    std::size_t at = 0;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      const SortedRun& run = bounds_.intervals.runs[i];
      const IntRange value = input(at);
      const IntRange shift = input(at + 1);
      const auto offset = line_offset(run, at + 2);
      at += 2 + run.indices.size();
      if (!value.is_single() || !shift.is_single() || !offset) return false;
      const TensorView& view = bounds_.bindings.captures[run.capture];
      const TokenRange within{keys.begin + shift.low, keys.end + shift.low};
      // A key whose entry is outside would wrap or raise.
      if (within.begin < 0 || within.end > view.shape[run.axis]) return false;
      search({.view = &view, .axis = run.axis, .offset = *offset}, within, value.low, found_[i]);
      row_numbers_[2 * i] = found_[i].entries.begin - shift.low;
      row_numbers_[2 * i + 1] = found_[i].entries.end - shift.low;
    }
    return true;
  }

  IntRange input(std::size_t i) const {
    return run_inputs_.value(bounds_.run_tape.results[i]).integer;
  }

  std::optional<std::int64_t> line_offset(const SortedRun& run, std::size_t first_index) const {
    const TensorView& view = bounds_.bindings.captures[run.capture];
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < view.rank(); ++axis) {
      if (axis == run.axis) continue;
      const IntRange written = input(first_index + axis);
      const std::int64_t index = wrap_index(written.low, view.shape[axis]);
      if (!written.is_single() || index < 0 || index >= view.shape[axis]) return std::nullopt;
      if (view.shape[axis] > 1) offset += index * view.strides[axis];
    }
    return offset;
  }

  static void search(const TableLine& line, TokenRange within, std::int64_t value, Found& found) {
    const bool same = found.valid && found.value == value && found.offset == line.offset &&
                      found.within == within;
    if (same) return;
    found = {.value = value,
             .offset = line.offset,
             .within = within,
             .entries = equal_range(line, within, value),
             .valid = true};
  }

  std::int64_t covered() {
    if (ranges_.size() == 1) return ranges_.front().size();
    std::ranges::sort(ranges_, {}, &TokenRange::begin);
    std::int64_t total = 0;
    std::int64_t reached = std::numeric_limits<std::int64_t>::min();
    for (const TokenRange& range : ranges_) {
      total += std::max<std::int64_t>(0, range.end - std::max(range.begin, reached));
      reached = std::max(reached, range.end);
    }
    return total;
  }

  const RowBounds& bounds_;
  TapeEvaluator run_inputs_;
  TapeEvaluator ends_;
  std::vector<std::int64_t> row_numbers_;
  std::vector<Found> found_;
  std::vector<TokenRange> ranges_;
};

}  // namespace

struct PairCounter::State {
  const TileClassifier& classifier;
  std::optional<RowBounds> bounds;
  std::optional<RowCounter> rows;
  std::string reason;
};

PairCounter::PairCounter(const ir::Program& program, const ir::Bindings& bindings,
                         const TileClassifier& classifier, const TileRange& domain)
    : state_(new State{classifier, std::nullopt, std::nullopt, {}}) {
  auto found = row_intervals(program);
  if (!found || domain.q.size() <= 0 || domain.kv.size() <= 0) {
    state_->reason = "the mask has no row intervals";
    return;
  }
  state_->bounds = row_bounds(*std::move(found), bindings);
  state_->reason = objection(*state_->bounds, domain);
  if (state_->reason.empty()) state_->rows.emplace(*state_->bounds);
}
PairCounter::~PairCounter() = default;

bool PairCounter::by_rows() const noexcept { return state_->rows.has_value(); }
const std::string& PairCounter::reason() const noexcept { return state_->reason; }

std::int64_t PairCounter::count(const TileRange& tile) {
  if (!state_->rows) return state_->classifier.live_pairs(tile);
  state_->rows->set_head(tile.b, tile.h);
  std::int64_t live = 0;
  for (std::int64_t q = tile.q.begin; q < tile.q.end; ++q) {
    const auto row = state_->rows->count(q, tile.kv);
    live += row ? *row : state_->classifier.live_pairs({tile.b, tile.h, {q, q + 1}, tile.kv});
  }
  return live;
}

}  // namespace tilewright::analyse
