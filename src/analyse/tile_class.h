#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "ir/program.h"
#include "tilewright/mask_map.h"

namespace tilewright::analyse {

struct MaskTape;
class TapeEvaluator;

/// One rectangle of pairs of one (b, h): logical query and key tokens.
struct TileRange {
  std::int64_t b = 0;
  std::int64_t h = 0;
  TokenRange q;
  TokenRange kv;
};

/// Classifies rectangles by interval arithmetic over mask_mod; captured tables enter through
/// min/max pyramids, which are built once here. Never says empty or full wrongly. Program and
/// bindings must outlive it, and the captured values must not change. Thread-safe after
/// construction.
class TileClassifier {
 public:
  TileClassifier(const ir::Program& program, const ir::Bindings& bindings);
  ~TileClassifier();
  TileClassifier(TileClassifier&&) noexcept;
  TileClassifier& operator=(TileClassifier&&) noexcept;

  /// Evaluates the tile, and where that says partial splits it until a part with live pairs and one
  /// with dead pairs is found, at most kMaxEvaluations times. An empty rectangle is empty.
  TileClass classify(const TileRange& tile) const;
  /// The same with the reason: which comparison decided, and over which ranges.
  TileClass classify(const TileRange& tile, std::string& reason) const;

  /// One evaluation, no splitting.
  TileClass classify_once(const TileRange& tile) const;

  /// Live pairs of a tile, exactly: split until every part is empty or full. Throws Error where the
  /// mask itself would raise (semantics R8, R9).
  std::int64_t live_pairs(const TileRange& tile) const;

  /// Null where the program has no mask_mod.
  const MaskTape* tape() const noexcept;
  std::size_t bytes() const noexcept;

  static constexpr int kMaxEvaluations = 384;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilewright::analyse
