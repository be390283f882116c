#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/json.h"
#include "tilewright/engine.h"

namespace tilewright::cli {

/// What comparing a packed call with each of its pieces alone found.
struct PieceCheck {
  std::int64_t pieces = 0;
  std::int64_t passed = 0;
  double max_difference = 0;  ///< between packed and alone, both by the engine
  std::string reason;         ///< the first piece that failed, and why
};

/// Boundaries of pieces along the sequence from a tensor of the form of cu_seqlens: 0, ..., length.
/// Throws Error for anything else.
std::vector<std::int64_t> piece_bounds(const TensorView& cu_seqlens, std::int64_t length);

/// Computes attention of each piece alone, with no mask, and compares: the packed result with the
/// fp64 meaning of the piece by the rule of docs/semantics.md, and with the engine's own result.
PieceCheck check_pieces(Engine& engine, const Program& unmasked, const ForwardInputs& inputs,
                        const TensorView& packed_out, const std::vector<std::int64_t>& bounds);

io::Json to_json(const PieceCheck& check);
std::string to_text(const PieceCheck& check);

}  // namespace tilewright::cli
