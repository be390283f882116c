#pragma once

#include <cstdint>

namespace tilewright::cpu {

/// row_shift follows row_max only past this distance: exp(8 ln 2) = 256 costs no accuracy.
inline constexpr double kLazyShift = 8 * 0.69314718055994530942;

/// The first fault that a tile met. Generated code writes it once (node is -1 until then); the call
/// raises it afterwards.
struct PassFault {
  std::int64_t node = -1;  ///< ir::NodeId of the load or division
  std::int64_t axis = 0;   ///< loads: the subscript's axis
  std::int64_t index = 0;  ///< loads: the subscript as written
};

/// A captured tensor as generated code reads it: base address, then extents and strides in elements
/// (0 on axes of extent 1).
struct PassCapture {
  const void* data = nullptr;
  const std::int64_t* extents = nullptr;
  const std::int64_t* strides = nullptr;
};

/// A number slot: 8 bytes, a double or an int64 by the slot's type.
union PassNumber {
  double real;
  std::int64_t integer;
};

/// What stays the same over a whole call.
struct PassCall {
  const PassCapture* captures = nullptr;
  const PassNumber* numbers = nullptr;
  double scale = 1;
};

/// One tile of scores, between the two GEMMs. `Real` below is float, or double for fp64 problems.
/// Rows are query rows of one (b, h), columns are keys.
///
/// For every row r and column c in [col_begin, col_end):
///   t = score_mod(scale * score[r][c], b, h, q_begin + r, kv_begin + c), -inf where mask_mod is
///   false (masked pass only) row_max[r] = max(row_max[r], t) exact, natural units row_shift moves
///   up to row_max only if row_max - row_shift > 8 * ln 2; row_alpha[r] = exp(old shift - new
///   shift), else 1 prob[r][c] = exp(t - row_shift[r]);  row_sum[r] = row_sum[r] * row_alpha[r] +
///   sum of prob (before rounding to prob's type)
/// Columns outside [col_begin, col_end) up to prob_cols get prob 0. A row without a live pair so
/// far keeps row_max and row_shift at -inf, row_alpha 1 and prob 0. NaN scores spoil their own row
/// only.
struct PassTile {
  void* score = nullptr;  ///< Real [rows][score_stride], raw query . key; may be overwritten
  void* prob = nullptr;   ///< f32, f64 or bf16 [rows][prob_stride]; apart from score
  /// Where prob is bf16: f32 [rows][prob_stride] that gets the same before rounding, or null.
  float* exact_prob = nullptr;
  std::int64_t score_stride = 0;
  std::int64_t prob_stride = 0;
  std::int64_t rows = 0;
  std::int64_t col_begin = 0;
  std::int64_t col_end = 0;
  std::int64_t prob_cols = 0;  ///< a multiple of 16; score and prob have at least as many columns
  std::int64_t b = 0;
  std::int64_t h = 0;
  std::int64_t q_begin = 0;   ///< logical position of row 0
  std::int64_t kv_begin = 0;  ///< logical position of column 0
  void* row_max = nullptr;    ///< Real [rows] each
  void* row_shift = nullptr;
  void* row_sum = nullptr;
  void* row_alpha = nullptr;
  void* column_scratch = nullptr;  ///< column_scratch_bytes of the pass, aligned to 64
  PassFault* fault = nullptr;
};

/// Generated code for one structure and variant. The masked pass evaluates mask_mod, the full pass
/// takes it as true.
using ScorePassFn = void (*)(const PassCall* call, const PassTile* tile);

/// Element type of prob.
enum class ProbType : std::uint8_t { kF32, kF64, kBF16 };

/// Selects among the variants of a structure.
struct PassVariant {
  bool is_f64 = false;  ///< Real is double
  ProbType prob = ProbType::kF32;
  bool fits_int32 = false;  ///< integers may be computed in 32 bits
  bool checked = true;      ///< subscripts and divisors must be checked
  bool operator==(const PassVariant&) const = default;
};

}  // namespace tilewright::cpu
