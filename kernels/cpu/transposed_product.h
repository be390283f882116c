#pragma once

// C[rows][columns] += A^T * B with A row-major [depth][rows], the product behind transposed_tile.
//
// As panel_product.h, but the rows of a block lie side by side in a row of A: a depth step reads
// kRows neighbours and moves on by A's stride, so A needs one pointer and no transposed copy.

#include "panel_product.h"

namespace tilewright::cpu {
namespace {

template <class Gemm, int kBlockRows>
[[gnu::noinline]] void multiply_transposed_block(Block<Gemm> block) {
  typename Gemm::Register sums[kBlockRows][2];
#pragma GCC unroll 16
  for (int row = 0; row < kBlockRows; ++row) {
    sums[row][0] = initial(block, row, 0);
    sums[row][1] = initial(block, row, 1);
  }
  const unsigned char* a = block.a;
  const unsigned char* b = block.b;
  constexpr std::int64_t kPanelBytes = sizeof(typename Gemm::Register);
  for (std::int64_t step = 0; step < block.depth_steps; ++step) {
    const auto b0 = Gemm::load_panel(b);
    const auto b1 = Gemm::load_panel(b + kPanelBytes);
#pragma GCC unroll 16
    for (int row = 0; row < kBlockRows; ++row) {
      const auto factor = Gemm::spread(reinterpret_cast<const typename Gemm::Factor*>(a) + row);
      sums[row][0] = Gemm::multiply_add(factor, b0, sums[row][0]);
      sums[row][1] = Gemm::multiply_add(factor, b1, sums[row][1]);
    }
    a += block.a_stride_bytes;
    b += 2 * kPanelBytes;
  }
#pragma GCC unroll 16
  for (int row = 0; row < kBlockRows; ++row) {
    Gemm::store(block.c + row * block.c_stride, sums[row][0]);
    Gemm::store(block.c + row * block.c_stride + Gemm::kLanes, sums[row][1]);
  }
}

template <class Gemm, int kBlockRows>
inline void multiply_transposed_rows(const Block<Gemm>& block, std::int64_t rows) {
  if constexpr (kBlockRows > 1) {
    if (rows < kBlockRows) return multiply_transposed_rows<Gemm, kBlockRows - 1>(block, rows);
  }
  multiply_transposed_block<Gemm, kBlockRows>(block);
}

/// All rows against one panel, in blocks of nearly equal height (see multiply_panel).
template <class Gemm>
inline void multiply_transposed_panel(Block<Gemm> block, std::int64_t rows) {
  std::int64_t blocks_left = (rows + Gemm::kRows - 1) / Gemm::kRows;
  for (; blocks_left > 0; --blocks_left) {
    const std::int64_t height = (rows + blocks_left - 1) / blocks_left;
    multiply_transposed_rows<Gemm, Gemm::kRows>(block, height);
    rows -= height;
    block.a += height * static_cast<std::int64_t>(sizeof(typename Gemm::Factor));
    block.c += height * block.c_stride;
  }
}

template <class Gemm>
void transposed_tile(const TransposedTile& tile) {
  constexpr std::int64_t kFactorBytes = sizeof(typename Gemm::Factor);
  const std::int64_t panel_bytes =
      round_up(tile.depth, kColumns<Gemm>) * kColumns<Gemm> * kFactorBytes;
  Block<Gemm> block{};
  block.a = static_cast<const unsigned char*>(tile.left);
  block.a_stride_bytes = tile.left_stride * kFactorBytes;
  block.b = static_cast<const unsigned char*>(tile.right);
  block.depth_steps = tile.depth;
  block.c = static_cast<typename Gemm::Accumulator*>(tile.output);
  block.c_stride = tile.output_stride;
  block.accumulate = true;
  for (std::int64_t column = 0; column < tile.columns; column += kColumns<Gemm>) {
    multiply_transposed_panel(block, tile.rows);
    block.b += panel_bytes;
    block.c += kColumns<Gemm>;
  }
}

}  // namespace
}  // namespace tilewright::cpu
