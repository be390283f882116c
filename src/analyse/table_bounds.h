#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analyse/interval.h"
#include "tilewright/tensor.h"

namespace tilewright::analyse {

/// Ranges of the elements of one captured tensor over boxes of subscripts.
///
/// A pyramid along one axis answers boxes that are wide along it: level 1 holds the range of each
/// 64 neighbours, level k of each 64^k. Where that axis ascends everywhere, the first and the last
/// element are the answer and no level is kept. Boxes that are wide along other axes too are
/// answered line by line. The tensor must outlive this and keep its values.
class TableBounds {
 public:
  /// Reads the tensor once. `axis` is the one that boxes are widest along. Where the levels would
  /// pass `budget_bytes` nothing is read: small boxes are scanned, large ones get the dtype's
  /// range.
  TableBounds(const TensorView& view, std::size_t axis, std::size_t budget_bytes);

  /// Range of the elements whose subscripts lie in the box, one range an axis, each inside the
  /// tensor and not empty.
  Interval over(std::span<const IntRange> box) const;

  /// Whether every line along the axis ascends.
  bool ascends() const noexcept { return ascends_; }
  std::size_t bytes() const noexcept;

 private:
  struct Line {
    std::int64_t number = 0;  ///< among the lines that levels are kept for
    std::int64_t offset = 0;  ///< of its first element
  };

  void read();
  bool all_ascend() const;
  void build_levels();
  Interval over_lines(std::span<const IntRange> box, std::size_t axis, Line line) const;
  Interval over_line(const Line& line, IntRange range) const;
  Interval over_cells(std::int64_t line, std::size_t level, IntRange cells) const;
  Interval elements(std::int64_t offset, IntRange range) const;
  Interval between(std::int64_t first, std::int64_t last) const;
  void widen(Interval& all, bool& some, const Interval& part) const;
  bool is_whole(const Interval& range) const;
  template <class Visit>
  void for_each_line(std::size_t axis, Line line, const Visit& visit) const;

  TensorView view_;
  ir::Type type_;
  std::size_t axis_;
  std::int64_t extent_ = 1;  ///< of the axis
  std::int64_t stride_ = 0;  ///< of the axis
  Dims line_strides_;        ///< how far one step along each other axis moves the line number
  std::int64_t lines_ = 1;
  bool readable_ = false;  ///< the tensor was read
  bool ascends_ = false;
  Interval whole_;                             ///< range of all elements
  std::vector<std::vector<Interval>> levels_;  ///< level k: cells of 64^(k+1), line after line
};

}  // namespace tilewright::analyse
