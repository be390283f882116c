#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/loaded_pass.h"
#include "ir/interpret.h"
#include "ir/program.h"
#include "kernels/cpu/micro_kernel.h"

namespace tilewright::test {

/// A way to run score passes: an instruction set of the JIT, or the tile interpreter.
struct PassMaker {
  std::string name;
  bool is_jit = false;
  cpu::Isa isa = cpu::Isa::kPortable;
  std::shared_ptr<const cpu::LoadedPass> make(const ir::Program& program,
                                              const cpu::PassVariant& variant) const;
};

/// Every instruction set that this CPU has, where the build has LLVM, and the tile interpreter.
std::vector<PassMaker> pass_makers();

/// Place and shape of one tile.
struct TilePlace {
  std::int64_t rows = 4;
  std::int64_t cols = 32;  ///< prob_cols, a multiple of 16
  std::int64_t col_begin = 0;
  std::int64_t col_end = 32;
  std::int64_t b = 0;
  std::int64_t h = 0;
  std::int64_t q_begin = 0;
  std::int64_t kv_begin = 0;
  bool whole = true;  ///< a tile where mask_mod may be taken as true
};

/// What one tile left behind, as doubles, and the state that the next tile of its rows starts from.
struct RowState {
  std::vector<double> max, shift, sum, alpha;
};

struct TileResult {
  std::vector<double> prob;        ///< rows x cols
  std::vector<double> exact_prob;  ///< likewise, where prob is narrower than the arithmetic
  cpu::PassFault fault;
};

/// Owns the memory of a tile and runs a pass over it.
class TileRunner {
 public:
  TileRunner(const ir::Bindings& bindings, const cpu::PassVariant& variant, double scale);

  /// `scores` are rows x cols raw scores; `state` is read and written. Memory around the tile is
  /// checked to stay as it was.
  TileResult run(const cpu::LoadedPass& pass, bool masked, const TilePlace& place,
                 const std::vector<double>& scores, RowState& state);

 private:
  template <class Real>
  TileResult run_typed(const cpu::LoadedPass& pass, bool masked, const TilePlace& place,
                       const std::vector<double>& scores, RowState& state);

  cpu::PassVariant variant_;
  double scale_;
  std::vector<std::vector<std::int64_t>> strides_;
  std::vector<cpu::PassCapture> captures_;
  std::vector<cpu::PassNumber> numbers_;
};

/// Rows that have seen no pair.
RowState empty_state(std::int64_t rows);

/// t of every pair of the tile in fp64 by the interpreter, -inf where the pair is dead.
std::vector<double> reference_scores(const ir::Program& program, const ir::Bindings& bindings,
                                     bool masked, const TilePlace& place,
                                     const std::vector<double>& scaled);

/// Values in [-4, 4], the same for the same seed.
std::vector<double> random_scores(std::uint64_t seed, std::int64_t count);

}  // namespace tilewright::test
