#pragma once

// The contract of the CPU micro-kernels: the two matrix products of one attention tile,
//
//   score_tile :  S[rows][kv]       = Q[rows][E] * K[kv][E]^T
//   output_tile:  O[rows][Ev]       = row_factor[rows] * O[rows][Ev] + P[rows][kv] * V[kv][Ev]
//
// and the packing of Q, K and V that they read. This header holds plain data types and no function:
// every kernel file includes it and is compiled with flags of its own, so an inline function here
// would be emitted once per instruction set under one name and the linker would keep any of them.

#include <cstdint>

#include "tilewright/dtype.h"

namespace tilewright::cpu {

/// Instruction sets with kernels of their own, the most preferred last.
enum class Isa : std::uint8_t { kPortable, kAvx2, kAvx512, kAvx512Bf16, kAmx };

/// Largest E and Ev that a kernel serves.
inline constexpr std::int64_t kMaxHeadDim = 512;

/// Alignment that every packed buffer, score tile and accumulator tile must have.
inline constexpr std::int64_t kPanelAlignment = 64;

/// A matrix in the caller's memory. Strides count elements, may be 0 (expanded) or negative.
struct MatrixView {
  const void* data;
  DType type;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t row_stride;
  std::int64_t column_stride;
};

/// S = Q * K^T for packed Q and K. Writes score[r][j] for r < rows and every j below kv rounded up
/// to MicroKernel::column_multiple; the columns past the packed keys come out as products with
/// zero.
struct ScoreTile {
  const void* query;          ///< rows as pack_query leaves them, at a row of the caller's choice
  const void* key;            ///< pack_key's result, at a multiple of column_multiple keys
  void* score;                ///< accumulator type, row-major
  std::int64_t score_stride;  ///< elements between rows, >= kv rounded up
  std::int64_t rows;          ///< any count >= 0
  std::int64_t kv;            ///< any count >= 0
  std::int64_t depth;         ///< the true E
};

/// O = row_factor * O + P * V for a packed V. Reads probability[r][j] for every j below kv rounded
/// up to MicroKernel::depth_multiple (those past kv must be finite: they meet zeros of V);
/// reads and writes output[r][c] for every c below columns rounded up to column_multiple.
struct OutputTile {
  const void* probability;          ///< compute type, row-major
  std::int64_t probability_stride;  ///< elements between rows
  const void* value;                ///< pack_value's result, see value_rows
  std::int64_t value_rows;          ///< key count that `value` was packed with, not rounded
  std::int64_t kv_begin;            ///< first packed key row used, a multiple of column_multiple
  void* output;                     ///< accumulator type, row-major
  std::int64_t output_stride;       ///< elements between rows, >= columns rounded up
  const void* row_factor;           ///< accumulator type, one per row; null means 1
  std::int64_t rows;
  std::int64_t kv;
  std::int64_t columns;  ///< the true Ev
};

/// C = C + A^T * B for a packed B: what the gradients of keys and values sum up, A being P or dS.
/// Reads left[d][r] for d < depth and r < rows; reads and writes output[r][c] for every c below
/// columns rounded up to column_multiple.
struct TransposedTile {
  const void* left;            ///< compute type, row-major [depth][rows]
  std::int64_t left_stride;    ///< elements between rows
  const void* right;           ///< pack_value's result of depth x columns
  void* output;                ///< accumulator type, row-major
  std::int64_t output_stride;  ///< elements between rows, >= columns rounded up
  std::int64_t rows;
  std::int64_t depth;
  std::int64_t columns;  ///< the true E or Ev
};

/// S = Q * K^T straight from the caller's memory, for work items of few rows (decode), where
/// packing would cost more than the product. Touches exactly rows x E and kv x E elements.
struct DirectScore {
  MatrixView query;  ///< rows x E
  MatrixView key;    ///< kv x E
  void* score;       ///< accumulator type, row-major, exactly rows x kv written
  std::int64_t score_stride;
};

/// O = row_factor * O + P * V with V in the caller's memory; P is of the accumulator type here.
struct DirectOutput {
  const void* probability;  ///< accumulator type, row-major, exactly rows x kv read
  std::int64_t probability_stride;
  std::int64_t rows;
  MatrixView value;  ///< kv x Ev
  void* output;      ///< as in OutputTile
  std::int64_t output_stride;
  const void* row_factor;  ///< as in OutputTile
};

/// target[r][c] = row_factor[r] * O[r][c], rounded to the storage type, for c < columns.
struct RowStore {
  const void* output;  ///< fp32, room for whole panels of columns
  std::int64_t output_stride;
  const void* row_factor;  ///< fp32, one per row
  void* target;
  DType type;                  ///< of target: f32, bf16 or f16
  std::int64_t target_stride;  ///< elements between rows; columns lie side by side
  std::int64_t rows;
  std::int64_t columns;
};

/// One row of the table of micro-kernels. All functions are pure, allocate nothing, never throw
/// and may run on any number of threads.
struct MicroKernel {
  const char* name;           ///< for example "f32_avx2"
  Isa isa;                    ///< what the CPU must have
  DType compute;              ///< type of packed Q, K, V and of P in output_tile: f32, f64 or bf16
  DType accumulator;          ///< type of S, O and row_factor: f64 for f64, else f32
  std::uint8_t sources;       ///< bit 1 << DType is set for each storage type packing accepts
  std::int64_t row_multiple;  ///< work items of a multiple of it use the registers best
  std::int64_t column_multiple;  ///< kv and Ev are padded to it
  std::int64_t depth_multiple;   ///< E, and kv as the depth of P * V, are padded to it

  /// rows x E -> row-major [rows][E rounded up to depth_multiple], zeros behind column E.
  void (*pack_query)(const MatrixView& source, void* packed);
  /// kv x E -> panels of column_multiple keys, each [E rounded up][column_multiple], zero padded.
  void (*pack_key)(const MatrixView& source, void* packed);
  /// kv x Ev -> panels of column_multiple value columns, each [kv rounded up to column_multiple]
  /// [column_multiple], zero padded, so that nothing behind the valid rows enters a product.
  void (*pack_value)(const MatrixView& source, void* packed);
  void (*score_tile)(const ScoreTile& tile);
  void (*output_tile)(const OutputTile& tile);
  void (*score_direct)(const DirectScore& operands);
  void (*output_direct)(const DirectOutput& operands);
  /// Null where the kernel takes A by pairs of the depth: transpose A and call output_tile.
  void (*transposed_tile)(const TransposedTile& tile);
  /// Null where the accumulator is not fp32, and on the portable rows.
  void (*store_rows)(const RowStore& rows);
};

}  // namespace tilewright::cpu
