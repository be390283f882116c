#include "analyse/table_bounds.h"

#include <algorithm>
#include <utility>

#include "analyse/element_scan.h"
#include "analyse/table_range.h"
#include "base/element.h"

namespace tilewright::analyse {

namespace {

constexpr std::int64_t kFanout = 64;
constexpr std::int64_t kMaxLinesPerBox = 1024;
constexpr std::int64_t kMaxScannedElements = 1 << 15;

std::int64_t cells_above(std::int64_t entries) { return (entries + kFanout - 1) / kFanout; }

std::uint8_t truth_bits(TruthRange range) {
  return static_cast<std::uint8_t>((range.can_be_false ? 1 : 0) | (range.can_be_true ? 2 : 0));
}

bool is_reachable(const TensorView& view) {
  return view.data != nullptr && view.device.kind == DeviceKind::kCpu &&
         element_count(view.shape) != 0;
}

bool ascends_below(const TensorView& view, std::size_t along, std::size_t axis,
                   std::int64_t offset) {
  if (axis == view.rank()) {
    const bool moves = view.rank() != 0 && view.shape[along] > 1;
    return is_ascending(view, {.offset = offset,
                               .stride = moves ? view.strides[along] : 0,
                               .count = view.rank() != 0 ? view.shape[along] : 1});
  }
  const bool moves = axis != along && view.shape[axis] > 1 && view.strides[axis] != 0;
  bool ascends = true;
  for (std::int64_t i = 0; ascends && i < (moves ? view.shape[axis] : 1); ++i)
    ascends =
        ascends_below(view, along, axis + 1, moves ? offset + i * view.strides[axis] : offset);
  return ascends;
}

}  // namespace

bool every_line_ascends(const TensorView& view, std::size_t axis) {
  return is_reachable(view) && ascends_below(view, axis, 0, 0);
}

TableBounds::TableBounds(const TensorView& view, std::size_t axis, std::size_t budget_bytes)
    : view_(view), type_(element_type(view.dtype)), axis_(axis), any_(dtype_range(view.dtype)) {
  for (std::size_t i = 0; i < view.rank(); ++i) {
    // Lines that an expanded axis repeats are kept once.
    const bool moves = i != axis && view.shape[i] > 1 && view.strides[i] != 0;
    line_strides_.push_back(moves ? lines_ : 0);
    if (moves) lines_ *= view.shape[i];
  }
  if (view.rank() != 0) {
    extent_ = view.shape[axis];
    stride_ = extent_ > 1 ? view.strides[axis] : 0;
  }
  // A line that one scan covers needs no levels.
  for (std::int64_t cells = extent_; cells > kFanout;) {
    level_begin_.push_back(line_cells_);
    line_cells_ += static_cast<std::size_t>(cells = cells_above(cells));
  }
  is_readable_ = is_reachable(view) && bytes_at_most() <= budget_bytes;
  if (!is_readable_) return;
  const auto lines = static_cast<std::size_t>(lines_);
  states_ = std::make_unique<std::atomic<LineState>[]>(lines);
  // Left uninitialised: memory that no line fills is never touched.
  if (type_ == ir::Type::kBool)
    truth_cells_ = std::make_unique_for_overwrite<std::uint8_t[]>(lines * line_cells_);
  else
    cells_ = std::make_unique_for_overwrite<Interval[]>(lines * line_cells_);
  if (view.rank() == 1) is_ascending_line_ = read({}) == LineState::kAscends;
}

std::size_t TableBounds::bytes_at_most() const noexcept {
  const std::size_t cell = type_ == ir::Type::kBool ? sizeof(std::uint8_t) : sizeof(Interval);
  return static_cast<std::size_t>(lines_) * (line_cells_ * cell + sizeof(LineState));
}

std::size_t TableBounds::bytes() const noexcept {
  if (!is_readable_) return sizeof *this;
  const std::size_t cell = type_ == ir::Type::kBool ? sizeof(std::uint8_t) : sizeof(Interval);
  return sizeof *this + static_cast<std::size_t>(lines_) * sizeof(LineState) +
         static_cast<std::size_t>(pyramids_.load()) * line_cells_ * cell;
}

TableBounds::LineState TableBounds::state_of(const Line& line) const {
  const LineState known =
      states_[static_cast<std::size_t>(line.number)].load(std::memory_order_acquire);
  return known == LineState::kUnread ? read(line) : known;
}

TableBounds::LineState TableBounds::read(const Line& line) const {
  const std::lock_guard lock(reading_);
  std::atomic<LineState>& state = states_[static_cast<std::size_t>(line.number)];
  if (state != LineState::kUnread) return state;
  LineState found = LineState::kAscends;
  if (!is_ascending(view_, {.offset = line.offset, .stride = stride_, .count = extent_})) {
    build_pyramid(line);
    found = LineState::kHasPyramid;
    ++pyramids_;
  }
  state.store(found, std::memory_order_release);
  return found;
}

void TableBounds::build_pyramid(const Line& line) const {
  std::int64_t entries = extent_;
  const std::size_t line_begin = static_cast<std::size_t>(line.number) * line_cells_;
  for (std::size_t level = 0; level < level_begin_.size(); ++level) {
    const std::int64_t cells = cells_above(entries);
    for (std::int64_t cell = 0; cell < cells; ++cell) {
      const IntRange below{cell * kFanout, std::min((cell + 1) * kFanout, entries) - 1};
      set_cell(line_begin + level_begin_[level] + static_cast<std::size_t>(cell),
               level == 0 ? elements(line.offset, below) : over_cells(line, level - 1, below));
    }
    entries = cells;
  }
}

void TableBounds::set_cell(std::size_t index, const Interval& range) const {
  if (type_ == ir::Type::kBool)
    truth_cells_[index] = truth_bits(range.truth);
  else
    cells_[index] = range;
}

/// Visits every line once.
template <class Visit>
void TableBounds::for_each_line(std::size_t axis, Line line, const Visit& visit) const {
  if (axis == view_.rank()) return visit(line);
  const std::int64_t steps = line_strides_[axis] == 0 ? 1 : view_.shape[axis];
  for (std::int64_t step = 0; step < steps; ++step) {
    for_each_line(axis + 1, line, visit);
    line.number += line_strides_[axis];
    if (step + 1 < steps) line.offset += view_.strides[axis];
  }
}

void TableBounds::find_whole() const {
  std::call_once(whole_once_, [&] {
    bool some = false;
    for_each_line(
        0, {}, [&](const Line& line) { widen(whole_, some, over_line(line, {0, extent_ - 1})); });
    whole_is_known_.store(true, std::memory_order_release);
  });
}

const Interval& TableBounds::widest() const noexcept {
  return whole_is_known_.load(std::memory_order_acquire) ? whole_ : any_;
}

Interval TableBounds::elements(std::int64_t offset, IntRange range) const {
  return scan(view_, {.offset = offset + range.low * stride_,
                      .stride = stride_,
                      .count = range.high - range.low + 1});
}

/// Of an ascending line, from its first and last element in question.
Interval TableBounds::between(std::int64_t first, std::int64_t last) const {
  if (type_ == ir::Type::kFloat)
    return RealRange{read_real(view_, first), read_real(view_, last), false};
  const std::int64_t low = read_integer(view_, first);
  const std::int64_t high = read_integer(view_, last);
  if (type_ == ir::Type::kInt) return IntRange{low, high};
  return TruthRange{low == 0, high != 0};
}

void TableBounds::widen(Interval& all, bool& some, const Interval& part) const {
  all = some ? hull(type_, all, part) : part;
  some = true;
}

Interval TableBounds::over_cells(const Line& line, std::size_t level, IntRange cells) const {
  const std::size_t first =
      static_cast<std::size_t>(line.number) * line_cells_ + level_begin_[level];
  const auto low = first + static_cast<std::size_t>(cells.low);
  const auto high = first + static_cast<std::size_t>(cells.high);
  if (type_ == ir::Type::kBool) {
    unsigned bits = 0;
    for (std::size_t i = low; i <= high; ++i) bits |= truth_cells_[i];
    return TruthRange{(bits & 1) != 0, (bits & 2) != 0};
  }
  Interval all = cells_[low];
  for (std::size_t i = low + 1; i <= high; ++i) all = hull(type_, all, cells_[i]);
  return all;
}

Interval TableBounds::over_line(const Line& line, IntRange range) const {
  const LineState state = is_readable_ ? state_of(line) : LineState::kUnread;
  if (state == LineState::kAscends)
    return between(line.offset + range.low * stride_, line.offset + range.high * stride_);
  Interval all{};
  bool some = false;
  const auto part = [&](std::size_t level, IntRange cells) {
    if (cells.low > cells.high) return;
    widen(all, some,
          level == 0 ? elements(line.offset, cells) : over_cells(line, level - 1, cells));
  };
  // Going up a level, the ragged ends are read below and the whole cells above.
  IntRange inside = range;
  std::size_t level = 0;
  const std::size_t levels = state == LineState::kHasPyramid ? level_begin_.size() : 0;
  while (level < levels && inside.high - inside.low + 1 >= 2 * kFanout) {
    const IntRange cells{cells_above(inside.low), (inside.high + 1) / kFanout - 1};
    part(level, {inside.low, cells.low * kFanout - 1});
    part(level, {(cells.high + 1) * kFanout, inside.high});
    inside = cells;
    ++level;
  }
  part(level, inside);
  return all;
}

bool TableBounds::is_widest(const Interval& range) const {
  const Interval& most = widest();
  if (type_ == ir::Type::kFloat) return range.real == most.real;
  return type_ == ir::Type::kInt ? range.integer == most.integer : range.truth == most.truth;
}

Interval TableBounds::over_lines(std::span<const IntRange> box, std::size_t axis, Line line) const {
  if (axis == box.size()) return over_line(line, box.empty() ? IntRange{0, 0} : box[axis_]);
  if (axis == axis_) return over_lines(box, axis + 1, line);
  const bool moves = line_strides_[axis] != 0;
  line.number += box[axis].low * line_strides_[axis];
  line.offset += moves ? box[axis].low * view_.strides[axis] : 0;
  Interval all = over_lines(box, axis + 1, line);
  for (std::int64_t i = box[axis].low + 1; moves && i <= box[axis].high && !is_widest(all); ++i) {
    line.number += line_strides_[axis];
    line.offset += view_.strides[axis];
    all = hull(type_, all, over_lines(box, axis + 1, line));
  }
  return all;
}

Interval TableBounds::over(std::span<const IntRange> box) const {
  if (is_ascending_line_) return between(box[0].low * stride_, box[0].high * stride_);
  if (is_readable_ && box.size() == 1) return over_line({}, box[0]);
  std::int64_t lines = 1;
  for (std::size_t i = 0; i < box.size(); ++i)
    if (line_strides_[i] != 0 && lines <= kMaxLinesPerBox) lines *= box[i].high - box[i].low + 1;
  if (is_readable_ && lines > kMaxLinesPerBox) {
    // Nothing is learnt from a pass over truths but that both occur.
    if (type_ == ir::Type::kBool) return any_;
    find_whole();
    return whole_;
  }
  if (is_readable_) return over_lines(box, 0, {});
  const std::int64_t along = box.empty() ? 1 : box[axis_].high - box[axis_].low + 1;
  const bool is_small = lines <= kMaxLinesPerBox && along <= kMaxScannedElements &&
                        lines * along <= kMaxScannedElements;
  return is_reachable(view_) && is_small ? over_lines(box, 0, {}) : any_;
}

}  // namespace tilewright::analyse
