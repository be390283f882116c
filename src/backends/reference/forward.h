#pragma once

#include <cstdint>

#include "backends/reference/listed_tiles.h"
#include "ir/program.h"
#include "tilewright/engine.h"

namespace tilewright::reference {

/// How a dense forward computes (semantics, Tolerance).
enum class Arithmetic : std::uint8_t {
  kMeaning,  ///< X64: everything in fp64
  kPlain,    ///< Xref: fp32 scores and softmax, P rounded to the input dtype; fp64 for fp64 inputs
};

/// What a forward computes, tensors apart. The parts outlive the call.
struct ForwardCall {
  const ir::Program& program;
  const ir::Bindings& bindings;
  const Problem& problem;
  const ListedTiles* listed = nullptr;     ///< explicit block lists; null: none were given
  const TensorView* kv_lengths = nullptr;  ///< null: every batch entry has KV keys
  Arithmetic arithmetic = Arithmetic::kMeaning;
};

/// Semantics R1-R5 written down: one row after another, no tiles, no threads. Scratch is one key
/// and value head and O(KV) a row. Outputs may have any floating dtype; results are rounded to it.
/// A row with a live NaN score gets NaN everywhere; one with a live +inf and no NaN gets NaN out,
/// +inf lse. Throws Error{kIndexOutOfRange, kDivisionByZero} for live faults, kUnsupported for keys
/// that are not dense.
void forward(const ForwardCall& call, const ForwardInputs& inputs, const ForwardOutputs& outputs);

}  // namespace tilewright::reference
