#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "analyse/tile_class.h"
#include "ir/program.h"

namespace tilewright::analyse {

/// Counts live pairs exactly, row by row from row intervals where the mask has them and the
/// bindings bear them out, else by splitting tiles. Program, bindings and classifier must outlive
/// it.
class PairCounter {
 public:
  /// `domain` is the rectangle that all later tiles lie in; b and h count from 0 there.
  PairCounter(const ir::Program& program, const ir::Bindings& bindings,
              const TileClassifier& classifier, const TileRange& domain);
  ~PairCounter();

  std::int64_t count(const TileRange& tile);

  /// Whether row intervals serve, and if not, why.
  bool by_rows() const noexcept;
  const std::string& reason() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilewright::analyse
