#pragma once

#include <memory>
#include <string>

#include "ir/program.h"
#include "tilewright/mask_map.h"

namespace tilewright::analyse {

/// One rectangle of pairs of one (b, h): logical query and key tokens.
struct TileRange {
  std::int64_t b = 0;
  std::int64_t h = 0;
  TokenRange q;
  TokenRange kv;
};

/// Classifies rectangles by interval arithmetic over mask_mod; captured tables enter through
/// min/max pyramids, which are built once here. Never says empty or full wrongly. Program and
/// bindings must outlive it. Thread-safe after construction.
class TileClassifier {
 public:
  TileClassifier(const ir::Program& program, const ir::Bindings& bindings);
  ~TileClassifier();

  TileClass classify(const TileRange& tile) const;
  /// The same with the reason: which comparison decided, and over which ranges.
  TileClass classify(const TileRange& tile, std::string& reason) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilewright::analyse
