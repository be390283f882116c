#include "analyse/table_bounds.h"

#include <algorithm>

#include "analyse/element_scan.h"
#include "analyse/table_range.h"
#include "base/element.h"

namespace tilewright::analyse {

namespace {

constexpr std::int64_t kFanout = 64;
constexpr std::int64_t kMaxLinesPerBox = 1024;
constexpr std::int64_t kMaxScannedElements = 1 << 15;

std::int64_t cells_above(std::int64_t entries) { return (entries + kFanout - 1) / kFanout; }

/// Cells of all levels over one line; a line that one scan covers needs none.
std::int64_t level_cells(std::int64_t extent) {
  std::int64_t total = 0;
  for (std::int64_t cells = extent; cells > kFanout;) total += cells = cells_above(cells);
  return total;
}

}  // namespace

TableBounds::TableBounds(const TensorView& view, std::size_t axis, std::size_t budget_bytes)
    : view_(view), type_(element_type(view.dtype)), axis_(axis), whole_(dtype_range(view.dtype)) {
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
  const bool reachable = view.data != nullptr && view.device.kind == DeviceKind::kCpu &&
                         element_count(view.shape) != 0;
  const auto cells = static_cast<std::size_t>(lines_ * level_cells(extent_));
  if (reachable && cells * sizeof(Interval) <= budget_bytes) read();
}

void TableBounds::read() {
  readable_ = true;
  ascends_ = all_ascend();
  if (!ascends_ && extent_ > kFanout) build_levels();
  bool some = false;
  for_each_line(0, {}, [&](const Line& line) {
    widen(whole_, some, over_line(line, {0, extent_ - 1}));
    return true;
  });
}

/// Visits every line once, until `visit` returns false.
template <class Visit>
void TableBounds::for_each_line(std::size_t axis, Line line, const Visit& visit) const {
  bool more = true;
  const auto walk = [&](const auto& self, std::size_t i, Line at) -> void {
    if (i == view_.rank()) {
      more = visit(at);
      return;
    }
    const std::int64_t steps = line_strides_[i] == 0 ? 1 : view_.shape[i];
    for (std::int64_t step = 0; step < steps && more; ++step) {
      self(self, i + 1, at);
      at.number += line_strides_[i];
      if (step + 1 < steps) at.offset += view_.strides[i];
    }
  };
  walk(walk, axis, line);
}

bool TableBounds::all_ascend() const {
  bool ascend = true;
  for_each_line(0, {}, [&](const Line& line) {
    ascend = is_ascending(view_, {.offset = line.offset, .stride = stride_, .count = extent_});
    return ascend;
  });
  return ascend;
}

void TableBounds::build_levels() {
  std::int64_t entries = extent_;
  while (entries > kFanout) {
    const std::int64_t cells = cells_above(entries);
    const bool first = levels_.empty();
    std::vector<Interval> level(static_cast<std::size_t>(lines_ * cells));
    for_each_line(0, {}, [&](const Line& line) {
      for (std::int64_t cell = 0; cell < cells; ++cell) {
        const IntRange below{cell * kFanout, std::min((cell + 1) * kFanout, entries) - 1};
        level[static_cast<std::size_t>(line.number * cells + cell)] =
            first ? elements(line.offset, below)
                  : over_cells(line.number, levels_.size() - 1, below);
      }
      return true;
    });
    levels_.push_back(std::move(level));
    entries = cells;
  }
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

Interval TableBounds::over_cells(std::int64_t line, std::size_t level, IntRange cells) const {
  const auto per_line = static_cast<std::int64_t>(levels_[level].size()) / lines_;
  const Interval* first = levels_[level].data() + line * per_line;
  Interval all = first[cells.low];
  for (std::int64_t i = cells.low + 1; i <= cells.high; ++i) all = hull(type_, all, first[i]);
  return all;
}

Interval TableBounds::over_line(const Line& line, IntRange range) const {
  if (ascends_)
    return between(line.offset + range.low * stride_, line.offset + range.high * stride_);
  Interval all{};
  bool some = false;
  const auto part = [&](std::size_t level, IntRange cells) {
    if (cells.low > cells.high) return;
    widen(all, some,
          level == 0 ? elements(line.offset, cells) : over_cells(line.number, level - 1, cells));
  };
  // Going up a level, the ragged ends are read below and the whole cells above.
  IntRange inside = range;
  std::size_t level = 0;
  while (level < levels_.size() && inside.high - inside.low + 1 >= 2 * kFanout) {
    const IntRange cells{cells_above(inside.low), (inside.high + 1) / kFanout - 1};
    part(level, {inside.low, cells.low * kFanout - 1});
    part(level, {(cells.high + 1) * kFanout, inside.high});
    inside = cells;
    ++level;
  }
  part(level, inside);
  return all;
}

bool TableBounds::is_whole(const Interval& range) const {
  if (type_ == ir::Type::kFloat) return range.real == whole_.real;
  return type_ == ir::Type::kInt ? range.integer == whole_.integer : range.truth == whole_.truth;
}

Interval TableBounds::over_lines(std::span<const IntRange> box, std::size_t axis, Line line) const {
  if (axis == box.size()) return over_line(line, box.empty() ? IntRange{0, 0} : box[axis_]);
  if (axis == axis_) return over_lines(box, axis + 1, line);
  const bool moves = line_strides_[axis] != 0;
  line.number += box[axis].low * line_strides_[axis];
  line.offset += moves ? box[axis].low * view_.strides[axis] : 0;
  Interval all = over_lines(box, axis + 1, line);
  for (std::int64_t i = box[axis].low + 1; moves && i <= box[axis].high && !is_whole(all); ++i) {
    line.number += line_strides_[axis];
    line.offset += view_.strides[axis];
    all = hull(type_, all, over_lines(box, axis + 1, line));
  }
  return all;
}

Interval TableBounds::over(std::span<const IntRange> box) const {
  if (ascends_ && box.size() == 1) return over_line({}, box[0]);
  std::int64_t lines = 1;
  for (std::size_t i = 0; i < box.size(); ++i)
    if (line_strides_[i] != 0 && lines <= kMaxLinesPerBox) lines *= box[i].high - box[i].low + 1;
  if (lines > kMaxLinesPerBox) return whole_;
  const std::int64_t along = box.empty() ? 1 : box[axis_].high - box[axis_].low + 1;
  const bool scannable = view_.data != nullptr && view_.device.kind == DeviceKind::kCpu &&
                         lines * std::min(along, kMaxScannedElements) <= kMaxScannedElements &&
                         along <= kMaxScannedElements;
  if (!readable_ && !scannable) return whole_;
  return over_lines(box, 0, {});
}

std::size_t TableBounds::bytes() const noexcept {
  std::size_t total = sizeof *this;
  for (const auto& level : levels_) total += level.size() * sizeof(Interval);
  return total;
}

}  // namespace tilewright::analyse
