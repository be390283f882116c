#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "analyse/interval.h"
#include "tilewright/tensor.h"

namespace tilewright::analyse {

/// Ranges of the elements of one captured tensor over boxes of subscripts.
///
/// Lines run along one axis. A line that ascends is bounded by its first and last element in
/// question; of any other a pyramid is kept: level 1 holds the range of each 64 neighbours, level k
/// of each 64^k. A single line is read at once, others when a box first touches them, each once, so
/// a large table costs what is looked at. Boxes that are wide along other axes too are answered
/// line by line. The tensor must outlive this and keep its values. Thread-safe.
class TableBounds {
 public:
  /// `axis` is the one that boxes are widest along. Where the pyramids of all lines would pass
  /// `budget_bytes` none is kept: small boxes are scanned, large ones get the dtype's range.
  TableBounds(const TensorView& view, std::size_t axis, std::size_t budget_bytes);

  /// Range of the elements whose subscripts lie in the box, one range an axis, each inside the
  /// tensor and not empty.
  Interval over(std::span<const IntRange> box) const;

  /// Of this and the pyramids that were built.
  std::size_t bytes() const noexcept;
  /// What the pyramids of all lines take.
  std::size_t bytes_at_most() const noexcept;

 private:
  struct Line {
    std::int64_t number = 0;  ///< among the lines that pyramids are kept for
    std::int64_t offset = 0;  ///< of its first element
  };
  enum class LineState : std::uint8_t { kUnread, kAscends, kHasPyramid };

  LineState state_of(const Line& line) const;
  LineState read(const Line& line) const;
  void build_pyramid(const Line& line) const;
  void find_whole() const;
  /// Range of all elements where it is known, else of the dtype.
  const Interval& widest() const noexcept;
  Interval over_lines(std::span<const IntRange> box, std::size_t axis, Line line) const;
  Interval over_line(const Line& line, IntRange range) const;
  Interval over_cells(const Line& line, std::size_t level, IntRange cells) const;
  void set_cell(std::size_t index, const Interval& range) const;
  Interval elements(std::int64_t offset, IntRange range) const;
  Interval between(std::int64_t first, std::int64_t last) const;
  void widen(Interval& all, bool& some, const Interval& part) const;
  bool is_widest(const Interval& range) const;
  template <class Visit>
  void for_each_line(std::size_t axis, Line line, const Visit& visit) const;

  TensorView view_;
  ir::Type type_;
  std::size_t axis_;
  std::int64_t extent_ = 1;  ///< of the axis
  std::int64_t stride_ = 0;  ///< of the axis
  Dims line_strides_;        ///< how far one step along each other axis moves the line number
  std::int64_t lines_ = 1;
  std::vector<std::size_t> level_begin_;  ///< of each level among the cells of a line
  std::size_t line_cells_ = 0;
  bool is_readable_ = false;
  bool is_ascending_line_ = false;  ///< the tensor is one line, and that ascends
  Interval any_;                    ///< range of the dtype

  /// Filled line by line, line after line, each level after the one below it. A truth range is two
  /// bits: 1 it can be false, 2 it can be true.
  std::unique_ptr<Interval[]> cells_;
  std::unique_ptr<std::uint8_t[]> truth_cells_;
  std::unique_ptr<std::atomic<LineState>[]> states_;
  mutable std::atomic<std::int64_t> pyramids_{0};
  mutable std::mutex reading_;
  mutable std::once_flag whole_once_;
  mutable std::atomic<bool> whole_is_known_{false};
  mutable Interval whole_;
};

/// Whether every line of a tensor along `axis` ascends.
bool every_line_ascends(const TensorView& view, std::size_t axis);

}  // namespace tilewright::analyse
