#include "analyse/sorted_search.h"

#include "base/element.h"

namespace tilewright::analyse {

namespace {

/// The first entry of the range that is not below `value` (not below or equal, if `past`).
std::int64_t partition_point(const TableLine& line, TokenRange range, std::int64_t value,
                             bool past) {
  while (range.begin < range.end) {
    const std::int64_t middle = range.begin + range.size() / 2;
    const std::int64_t entry = read_integer(*line.view, line.offset + middle * line.stride());
    if (entry < value || (past && entry == value))
      range.begin = middle + 1;
    else
      range.end = middle;
  }
  return range.begin;
}

}  // namespace

TokenRange equal_range(const TableLine& line, TokenRange within, std::int64_t value) {
  const std::int64_t begin = partition_point(line, within, value, false);
  return {begin, partition_point(line, {begin, within.end}, value, true)};
}

}  // namespace tilewright::analyse
