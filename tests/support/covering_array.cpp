#include "support/covering_array.h"

#include <optional>
#include <utility>

namespace tilewright::cases {

namespace {

constexpr std::size_t kOpen = static_cast<std::size_t>(-1);

/// Which pairs of values no row has yet.
class Pairs {
 public:
  explicit Pairs(const std::vector<std::size_t>& sizes) : sizes_(sizes) {
    for (const std::size_t size : sizes) {
      begin_.push_back(values_);
      values_ += size;
    }
    open_.assign(values_ * values_, false);
    for (std::size_t f = 0; f < sizes.size(); ++f)
      for (std::size_t g = f + 1; g < sizes.size(); ++g) open_all(f, g);
  }

  bool is_open(std::size_t f, std::size_t x, std::size_t g, std::size_t y) const {
    return f < g ? open_[at(f, x, g, y)] : open_[at(g, y, f, x)];
  }

  void close(const Choice& row) {
    for (std::size_t f = 0; f < row.size(); ++f)
      for (std::size_t g = f + 1; g < row.size(); ++g) open_[at(f, row[f], g, row[g])] = false;
  }

  /// An open pair as a row with two factors chosen.
  std::optional<Choice> first() const {
    for (std::size_t f = 0; f < sizes_.size(); ++f)
      for (std::size_t g = f + 1; g < sizes_.size(); ++g)
        if (const auto pair = first_of(f, g)) {
          Choice row(sizes_.size(), kOpen);
          row[f] = pair->first;
          row[g] = pair->second;
          return row;
        }
    return std::nullopt;
  }

 private:
  std::size_t at(std::size_t f, std::size_t x, std::size_t g, std::size_t y) const {
    return (begin_[f] + x) * values_ + begin_[g] + y;
  }

  void open_all(std::size_t f, std::size_t g) {
    for (std::size_t x = 0; x < sizes_[f]; ++x)
      for (std::size_t y = 0; y < sizes_[g]; ++y) open_[at(f, x, g, y)] = true;
  }

  std::optional<std::pair<std::size_t, std::size_t>> first_of(std::size_t f, std::size_t g) const {
    for (std::size_t x = 0; x < sizes_[f]; ++x)
      for (std::size_t y = 0; y < sizes_[g]; ++y)
        if (open_[at(f, x, g, y)]) return std::pair{x, y};
    return std::nullopt;
  }

  const std::vector<std::size_t>& sizes_;
  std::vector<std::size_t> begin_;
  std::size_t values_ = 0;
  std::vector<bool> open_;
};

/// The value of one factor that closes most pairs with what the row has; ties go round robin, so
/// that values are used evenly.
std::size_t best_value(const Pairs& pairs, const Choice& row, std::size_t factor, std::size_t size,
                       std::size_t turn) {
  std::size_t best = 0;
  std::size_t best_gain = 0;
  for (std::size_t step = 0; step < size; ++step) {
    const std::size_t value = (turn + step) % size;
    std::size_t gain = 1;
    for (std::size_t g = 0; g < row.size(); ++g)
      gain += row[g] != kOpen && pairs.is_open(factor, value, g, row[g]) ? 1 : 0;
    if (gain <= best_gain) continue;
    best = value;
    best_gain = gain;
  }
  return best;
}

}  // namespace

std::vector<Choice> covering_array(const std::vector<std::size_t>& sizes) {
  Pairs pairs(sizes);
  std::vector<Choice> rows;
  while (auto row = pairs.first()) {
    for (std::size_t f = 0; f < sizes.size(); ++f)
      if ((*row)[f] == kOpen) (*row)[f] = best_value(pairs, *row, f, sizes[f], rows.size());
    pairs.close(*row);
    rows.push_back(*row);
  }
  return rows;
}

std::vector<Choice> full_product(const std::vector<std::size_t>& sizes) {
  std::vector<Choice> rows{Choice{}};
  for (const std::size_t size : sizes) {
    std::vector<Choice> longer;
    for (const Choice& row : rows)
      for (std::size_t value = 0; value < size; ++value) {
        longer.push_back(row);
        longer.back().push_back(value);
      }
    rows = std::move(longer);
  }
  return rows;
}

}  // namespace tilewright::cases
