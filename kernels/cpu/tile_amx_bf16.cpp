// bf16 tiles with AMX: blocks of 32 x 32 fp32 accumulators in four tile registers.
// Compile with the flags of AVX-512 bf16 and -mamx-tile -mamx-bf16.
//
//            B0 (16 pairs x 16 columns)  B1
//   A0       C0                          C1        rows  0..15 of the block
//   A1       C2                          C3        rows 16..31
//
// A  Q or P, row-major bf16, 32 elements of the depth a step, loaded in place
// B  a panel of 32 columns, [depth / 2][32][2]: the layout of the vdpbf16ps kernel, so packing is
// shared
//
// A product has a latency of 52 cycles and one starts every 16 (Intel optimisation manual, chapter
// on AMX): four independent sums keep the unit busy, and their 4 loads of 8 cycles hide behind it.
//
// The tile configuration is loaded on entry and released on exit of every call: it belongs to the
// thread, other libraries in the process set their own, and tiles in use slow context switches.
// A call does thousands of products, the configuration costs about one.
//
// Numeric notes: tdpbf16ps sums pairs into fp32, rounds to nearest even, and takes subnormal inputs
// and results as zero.

#include "registers_avx512.h"
#include "row_of_gemm.h"
#include "rows.h"

namespace tilewright::cpu {
namespace {

inline constexpr std::int64_t kTileRows = 16;
inline constexpr std::int64_t kBlockRows = 2 * kTileRows;
inline constexpr std::int64_t kStepDepth = 32;             // bf16 in one tile row
inline constexpr std::int64_t kPanelPairBytes = 32 * 4;    // one pair of depth rows of a panel
inline constexpr std::int64_t kTileColumnsBytes = 16 * 4;  // 16 columns of a panel, or of C

/// What packing needs to know (see panel_product.h).
struct AmxBf16 : Avx512F32 {
  using Factor = std::uint32_t;
  using Packed = Bf16;
  static constexpr int kDepthStep = 2;
  static constexpr int kDepthMultiple = kStepDepth;
  static constexpr int kRows = kBlockRows;
};
static_assert(kColumns<AmxBf16> * 4 == kPanelPairBytes);

/// The operand of ldtilecfg (Intel SDM, LDTILECFG).
struct alignas(64) TileConfig {
  std::uint8_t palette;
  std::uint8_t start_row;
  std::uint8_t reserved[14];
  std::uint16_t row_bytes[16];
  std::uint8_t rows[16];
};
static_assert(sizeof(TileConfig) == 64);

/// kConfigs.of[n - 1] is for blocks of n rows. They are constants because the intrinsic tells the
/// compiler of eight bytes of its operand only: stores to a local one could be dropped.
struct TileConfigs {
  TileConfig of[kBlockRows];
};

constexpr TileConfig config_for(std::int64_t block_rows) {
  const std::int64_t upper = block_rows < kTileRows ? block_rows : kTileRows;
  const std::int64_t rows[8] = {
      upper,     upper,    block_rows - upper, block_rows - upper, upper, block_rows - upper,
      kTileRows, kTileRows};
  TileConfig config{};
  config.palette = 1;
  for (int tile = 0; tile < 8; ++tile) {
    config.rows[tile] = static_cast<std::uint8_t>(rows[tile]);
    config.row_bytes[tile] = rows[tile] > 0 ? 64 : 0;
  }
  return config;
}

constexpr TileConfigs make_configs() {
  TileConfigs configs{};
  for (std::int64_t rows = 1; rows <= kBlockRows; ++rows) configs.of[rows - 1] = config_for(rows);
  return configs;
}

constexpr TileConfigs kConfigs = make_configs();

struct AmxProduct {
  const unsigned char* a;
  std::int64_t a_stride_bytes;
  const unsigned char* b;
  std::int64_t panel_bytes;
  std::int64_t panels;
  std::int64_t depth_steps;  // of kStepDepth
  float* c;
  std::int64_t c_stride;
  const float* row_factor;
  bool accumulate;
};

/// C starts from row_factor * C, written back to memory because tiles cannot multiply elementwise.
void rescale(const AmxProduct& block, std::int64_t rows) {
  for (std::int64_t row = 0; row < rows; ++row) {
    float* c = block.c + row * block.c_stride;
    const __m512 factor = _mm512_set1_ps(block.row_factor[row]);
    _mm512_storeu_ps(c, _mm512_mul_ps(_mm512_loadu_ps(c), factor));
    _mm512_storeu_ps(c + 16, _mm512_mul_ps(_mm512_loadu_ps(c + 16), factor));
  }
  // The tile loads that follow do not tell the compiler that they read memory.
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/// One block of up to 32 rows x 32 columns under a configuration of the same row count.
template <bool kLowerRows>
void multiply_tiles(const AmxProduct& block) {
  const std::int64_t c_bytes = block.c_stride * 4;
  float* lower_c = block.c + kTileRows * block.c_stride;
  if (block.accumulate) {
    _tile_loadd(0, block.c, c_bytes);
    _tile_loadd(1, block.c + 16, c_bytes);
    if constexpr (kLowerRows) _tile_loadd(2, lower_c, c_bytes);
    if constexpr (kLowerRows) _tile_loadd(3, lower_c + 16, c_bytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    if constexpr (kLowerRows) _tile_zero(2);
    if constexpr (kLowerRows) _tile_zero(3);
  }
  const unsigned char* a = block.a;
  const unsigned char* b = block.b;
  const std::int64_t lower_a = kTileRows * block.a_stride_bytes;
  for (std::int64_t step = 0; step < block.depth_steps; ++step) {
    _tile_loadd(4, a, block.a_stride_bytes);
    _tile_loadd(6, b, kPanelPairBytes);
    _tile_loadd(7, b + kTileColumnsBytes, kPanelPairBytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    if constexpr (kLowerRows) {
      _tile_loadd(5, a + lower_a, block.a_stride_bytes);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
    a += kStepDepth * 2;
    b += kStepDepth / 2 * kPanelPairBytes;
  }
  _tile_stored(0, block.c, c_bytes);
  _tile_stored(1, block.c + 16, c_bytes);
  if constexpr (kLowerRows) _tile_stored(2, lower_c, c_bytes);
  if constexpr (kLowerRows) _tile_stored(3, lower_c + 16, c_bytes);
}

/// Blocks of `height` rows, `blocks` of them one below the other, against every panel.
void multiply_band(const AmxProduct& band, std::int64_t height, std::int64_t blocks) {
  _tile_loadconfig(&kConfigs.of[height - 1]);
  AmxProduct column = band;
  for (std::int64_t panel = 0; panel < band.panels; ++panel) {
    AmxProduct block = column;
    for (std::int64_t i = 0; i < blocks; ++i) {
      if (block.row_factor != nullptr) rescale(block, height);
      if (height > kTileRows) multiply_tiles<true>(block);
      if (height <= kTileRows) multiply_tiles<false>(block);
      block.a += height * block.a_stride_bytes;
      block.c += height * block.c_stride;
      if (block.row_factor != nullptr) block.row_factor += height;
    }
    column.b += band.panel_bytes;
    column.c += kColumns<AmxBf16>;
  }
}

void multiply(AmxProduct product, std::int64_t rows) {
  const std::int64_t full_blocks = rows / kBlockRows;
  const std::int64_t full_rows = full_blocks * kBlockRows;
  if (full_blocks > 0) multiply_band(product, kBlockRows, full_blocks);
  if (rows > full_rows) {
    product.a += full_rows * product.a_stride_bytes;
    product.c += full_rows * product.c_stride;
    if (product.row_factor != nullptr) product.row_factor += full_rows;
    multiply_band(product, rows - full_rows, 1);
  }
  _tile_release();
}

std::int64_t panels_of(std::int64_t columns) {
  return (columns + kColumns<AmxBf16> - 1) / kColumns<AmxBf16>;
}

void amx_score_tile(const ScoreTile& tile) {
  const std::int64_t depth = round_up(tile.depth, kStepDepth);
  AmxProduct product{};
  product.a = static_cast<const unsigned char*>(tile.query);
  product.a_stride_bytes = depth * 2;
  product.b = static_cast<const unsigned char*>(tile.key);
  product.panel_bytes = depth / 2 * kPanelPairBytes;
  product.panels = panels_of(tile.kv);
  product.depth_steps = depth / kStepDepth;
  product.c = static_cast<float*>(tile.score);
  product.c_stride = tile.score_stride;
  multiply(product, tile.rows);
}

void amx_output_tile(const OutputTile& tile) {
  AmxProduct product{};
  product.a = static_cast<const unsigned char*>(tile.probability);
  product.a_stride_bytes = tile.probability_stride * 2;
  product.b = static_cast<const unsigned char*>(tile.value);
  product.b += tile.kv_begin / 2 * kPanelPairBytes;
  product.panel_bytes = round_up(tile.value_rows, kColumns<AmxBf16>) / 2 * kPanelPairBytes;
  product.panels = panels_of(tile.columns);
  product.depth_steps = round_up(tile.kv, kStepDepth) / kStepDepth;
  product.c = static_cast<float*>(tile.output);
  product.c_stride = tile.output_stride;
  product.row_factor = static_cast<const float*>(tile.row_factor);
  product.accumulate = true;
  multiply(product, tile.rows);
}

constexpr MicroKernel make_amx_row() {
  MicroKernel row = make_packing_row<AmxBf16, Avx512F32>("bf16_amx", Isa::kAmx);
  row.score_tile = amx_score_tile;
  row.output_tile = amx_output_tile;
  return row;
}

}  // namespace

constinit const MicroKernel kBf16Amx = make_amx_row();

}  // namespace tilewright::cpu
