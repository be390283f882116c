#pragma once

// C[rows][columns] (+)= A[rows][depth] * B[depth][columns], the one product behind score_tile and
// output_tile.
//
//   A  row-major, any stride         (packed Q, or P as the score pass wrote it)
//   B  panels of kColumns columns    (packed K^T or packed V), a panel is [depth][kColumns]
//   C  row-major accumulators        (S or O)
//
//   for each panel of B              stays in L1 while all rows pass by
//     for each block of <= kRows     kRows x 2 accumulator registers
//       for each depth step          2 loads of B, one broadcast of A per row, 2 FMA per row
//
// `Gemm` describes one instruction set and type:
//   Accumulator, Register (kLanes accumulators), Factor (one broadcast unit of A: an element, or a
//   pair of bf16), kDepthStep (elements in a Factor), Packed (type of an element), kRows,
//   zero() load(const Accumulator*) store(Accumulator*, Register) multiply(Register, Register)
//   broadcast(Accumulator), Panel load_panel(const unsigned char*), Panel spread(const Factor*),
//   multiply_add(Panel spread_a, Panel b, Register c).

#include "storage.h"

namespace tilewright::cpu {
namespace {

template <class Gemm>
struct Block {
  const unsigned char* a;
  std::int64_t a_stride_bytes;
  const unsigned char* b;
  std::int64_t depth_steps;
  typename Gemm::Accumulator* c;
  std::int64_t c_stride;
  const typename Gemm::Accumulator* row_factor;
  bool accumulate;
};

template <class Gemm>
inline constexpr std::int64_t kColumns = 2 * Gemm::kLanes;

template <class Gemm>
inline typename Gemm::Register initial(const Block<Gemm>& block, int row, int half) {
  if (!block.accumulate) return Gemm::zero();
  const auto old = Gemm::load(block.c + row * block.c_stride + half * Gemm::kLanes);
  if (block.row_factor == nullptr) return old;
  return Gemm::multiply(old, Gemm::broadcast(block.row_factor[row]));
}

/// The address of row `row` of A. Rows go in threes from one base: base, base + stride and
/// base + 2 * stride are x86 addressing modes, so 14 rows cost 5 pointers and spill nothing.
template <class Gemm>
inline const typename Gemm::Factor* factor_at(const unsigned char* const* bases, int row,
                                              std::int64_t stride_bytes) {
  const unsigned char* address = bases[row / 3] + (row % 3) * stride_bytes;
  return reinterpret_cast<const typename Gemm::Factor*>(address);
}

/// The running state of a block: 2 sums a row, the bases of A, the row of B that comes next.
template <class Gemm, int kBlockRows>
struct Running {
  static constexpr int kBases = (kBlockRows + 2) / 3;
  static constexpr std::int64_t kPanelBytes = sizeof(typename Gemm::Register);

  typename Gemm::Register sums[kBlockRows][2];
  const unsigned char* bases[kBases];
  const unsigned char* b;

  /// kSteps depth steps at constant offsets, then one advance of every pointer.
  template <int kSteps>
  [[gnu::always_inline]] inline void advance(std::int64_t a_stride_bytes) {
#pragma GCC unroll 4
    for (int step = 0; step < kSteps; ++step) {
      const auto b0 = Gemm::load_panel(b + 2 * step * kPanelBytes);
      const auto b1 = Gemm::load_panel(b + (2 * step + 1) * kPanelBytes);
#pragma GCC unroll 16
      for (int row = 0; row < kBlockRows; ++row) {
        const auto a = Gemm::spread(factor_at<Gemm>(bases, row, a_stride_bytes) + step);
        sums[row][0] = Gemm::multiply_add(a, b0, sums[row][0]);
        sums[row][1] = Gemm::multiply_add(a, b1, sums[row][1]);
      }
    }
    b += 2 * kSteps * kPanelBytes;
#pragma GCC unroll 16
    for (int base = 0; base < kBases; ++base) bases[base] += kSteps * sizeof(typename Gemm::Factor);
  }
};

template <class Gemm, int kBlockRows>
[[gnu::noinline]] void multiply_block(const Block<Gemm>& block) {
  constexpr int kUnroll = 2;  // pointer updates cost issue slots; more steps spill sums
  Running<Gemm, kBlockRows> running;
  const std::int64_t stride = block.a_stride_bytes;
  running.b = block.b;
#pragma GCC unroll 16
  for (int base = 0; base < running.kBases; ++base) {
    running.bases[base] = block.a + base * 3 * stride;
  }
#pragma GCC unroll 16
  for (int row = 0; row < kBlockRows; ++row) {
    running.sums[row][0] = initial(block, row, 0);
    running.sums[row][1] = initial(block, row, 1);
  }
  std::int64_t steps = block.depth_steps;
  for (; steps >= kUnroll; steps -= kUnroll) running.template advance<kUnroll>(stride);
  for (; steps > 0; --steps) running.template advance<1>(stride);
#pragma GCC unroll 16
  for (int row = 0; row < kBlockRows; ++row) {
    Gemm::store(block.c + row * block.c_stride, running.sums[row][0]);
    Gemm::store(block.c + row * block.c_stride + Gemm::kLanes, running.sums[row][1]);
  }
}

template <class Gemm, int kBlockRows>
inline void multiply_rows(const Block<Gemm>& block, std::int64_t rows) {
  if constexpr (kBlockRows > 1) {
    if (rows < kBlockRows) return multiply_rows<Gemm, kBlockRows - 1>(block, rows);
  }
  multiply_block<Gemm, kBlockRows>(block);
}

/// All rows against one panel, in blocks of nearly equal height: 64 rows are 13+13+13+13+12 and
/// not 14+14+14+14+8, because a low block has too few sums in flight to hide the FMA latency.
template <class Gemm>
inline void multiply_panel(Block<Gemm> block, std::int64_t rows) {
  std::int64_t blocks_left = (rows + Gemm::kRows - 1) / Gemm::kRows;
  for (; blocks_left > 0; --blocks_left) {
    const std::int64_t height = (rows + blocks_left - 1) / blocks_left;
    multiply_rows<Gemm, Gemm::kRows>(block, height);
    rows -= height;
    block.a += height * block.a_stride_bytes;
    block.c += height * block.c_stride;
    if (block.row_factor != nullptr) block.row_factor += height;
  }
}

template <class Gemm>
void score_tile(const ScoreTile& tile) {
  constexpr std::int64_t kFactorBytes = sizeof(typename Gemm::Factor);
  const std::int64_t depth_steps = (tile.depth + Gemm::kDepthStep - 1) / Gemm::kDepthStep;
  const std::int64_t panel_bytes = depth_steps * kColumns<Gemm> * kFactorBytes;
  Block<Gemm> block{};
  block.a = static_cast<const unsigned char*>(tile.query);
  block.a_stride_bytes = depth_steps * kFactorBytes;
  block.b = static_cast<const unsigned char*>(tile.key);
  block.depth_steps = depth_steps;
  block.c = static_cast<typename Gemm::Accumulator*>(tile.score);
  block.c_stride = tile.score_stride;
  for (std::int64_t column = 0; column < tile.kv; column += kColumns<Gemm>) {
    multiply_panel(block, tile.rows);
    block.b += panel_bytes;
    block.c += kColumns<Gemm>;
  }
}

template <class Gemm>
void output_tile(const OutputTile& tile) {
  constexpr std::int64_t kFactorBytes = sizeof(typename Gemm::Factor);
  constexpr std::int64_t kRowBytes = kColumns<Gemm> * kFactorBytes;  // of one depth step
  const std::int64_t panel_rows = round_up(tile.value_rows, kColumns<Gemm>);
  Block<Gemm> block{};
  block.a = static_cast<const unsigned char*>(tile.probability);
  block.a_stride_bytes = tile.probability_stride * (kFactorBytes / Gemm::kDepthStep);
  block.b = static_cast<const unsigned char*>(tile.value);
  block.b += tile.kv_begin / Gemm::kDepthStep * kRowBytes;
  block.depth_steps = (tile.kv + Gemm::kDepthStep - 1) / Gemm::kDepthStep;
  block.c = static_cast<typename Gemm::Accumulator*>(tile.output);
  block.c_stride = tile.output_stride;
  block.row_factor = static_cast<const typename Gemm::Accumulator*>(tile.row_factor);
  block.accumulate = true;
  for (std::int64_t column = 0; column < tile.columns; column += kColumns<Gemm>) {
    multiply_panel(block, tile.rows);
    block.b += panel_rows / Gemm::kDepthStep * kRowBytes;
    block.c += kColumns<Gemm>;
  }
}

}  // namespace
}  // namespace tilewright::cpu
