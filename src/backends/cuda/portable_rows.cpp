#include "backends/cuda/portable_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace tilewright::cuda {

namespace {

constexpr std::int64_t kMaxPortableHeadDim = 512;
constexpr std::int64_t kMaxValueTile = 256;
constexpr int kHopper = 90;

/// docs/kernels/portable_forward.md says what was measured.
struct PortableShape {
  int strips;
  int kv_rows;
  int stages;
  std::int64_t max_dim;  ///< of E, and of the columns of Ev that a block computes
  bool holds_query;
  int blocks;  ///< of a multiprocessor, as far as registers go
};

constexpr std::array<PortableShape, 5> kAlignedHalfShapes{{
    {2, 64, 2, 64, false, 3},
    {2, 64, 2, 128, false, 2},
    {1, 64, 1, 256, false, 2},
    {1, 32, 1, 256, false, 2},
    {1, 16, 1, 512, false, 2},
}};
constexpr std::array<PortableShape, 5> kHalfShapes{{
    {2, 64, 2, 64, false, 2},
    {2, 64, 2, 128, false, 2},
    {1, 32, 2, 256, true, 2},
    {1, 32, 1, 256, false, 2},
    {1, 16, 1, 512, false, 2},
}};
constexpr std::array<PortableShape, 5> kFloatShapes{{
    {1, 32, 2, 64, false, 2},
    {1, 32, 2, 128, false, 2},
    {1, 16, 2, 256, false, 2},
    {1, 16, 1, 256, false, 2},
    {1, 16, 1, 512, false, 2},
}};

std::int64_t rounded_up(std::int64_t value, std::int64_t unit) {
  return std::max(unit, (value + unit - 1) / unit * unit);
}

std::int64_t element_bytes(const Problem& problem) {
  return problem.query_dtype == DType::kF32 ? 4 : 2;
}

/// Few query rows, all heads of a group in one tile: blocks of few warps, so that many of them read
/// keys at once.
constexpr std::array<PortableShape, 3> kHalfDecodeShapes{{
    {1, 64, 2, 128, false, 2},
    {1, 32, 2, 256, false, 2},
    {1, 16, 1, 512, false, 2},
}};
constexpr std::array<PortableShape, 3> kFloatDecodeShapes{{
    {1, 32, 2, 128, false, 2},
    {1, 16, 2, 256, false, 2},
    {1, 16, 1, 512, false, 2},
}};

KernelRow portable_row(const PortableShape& shape, int copy_bytes, const Problem& problem) {
  const std::int64_t unit = problem.query_dtype == DType::kF32 ? 8 : 16;
  KernelRow row;
  row.name = fmt::format("portable_w4x{}_n{}_s{}{}_c{}", shape.strips, shape.kv_rows, shape.stages,
                         shape.holds_query ? "_hold" : "", copy_bytes);
  row.family = Family::kPortable;
  row.warps = 4;
  row.strips = shape.strips;
  row.threads = 32 * row.warps;
  row.q_rows = 16 * row.strips * row.warps;
  row.kv_rows = shape.kv_rows;
  row.key_stages = row.value_stages = shape.stages;
  row.consumer_warpgroups = row.query_stages = 0;
  row.ping_pong = row.defers_check = false;
  constexpr int kRegisters = 65536;
  row.max_registers = std::min(255, kRegisters / (row.threads * shape.blocks) / 8 * 8);
  row.head_tile = static_cast<int>(rounded_up(problem.head_dim, unit));
  row.value_tile = static_cast<int>(
      std::min(rounded_up(problem.value_dim, unit), std::min(shape.max_dim, kMaxValueTile)));
  row.copy_bytes = copy_bytes;
  row.holds_query = shape.holds_query;
  return row;
}

std::string portable_rejection(const RowQuestion& question) {
  const Problem& problem = question.problem;
  if (question.device.major < 8)
    return fmt::format("needs compute capability 8.0, the device has {}.{}", question.device.major,
                       question.device.minor);
  const DType dtype = problem.query_dtype;
  if (dtype == DType::kF64) return "serves f32, bf16 and f16, not f64";
  if (problem.key_dtype != dtype || problem.value_dtype != dtype)
    return "query, key and value must have one dtype";
  if (problem.out_dtype != dtype && problem.out_dtype != DType::kF32)
    return "out must have query's dtype or be f32";
  if (problem.kv_layout != KvLayout::kDense) return "keys and values must be dense";
  if (problem.head_dim > kMaxPortableHeadDim)
    return fmt::format("serves head dims up to {}", kMaxPortableHeadDim);
  return {};
}

std::string portable_row_rejection(const PortableShape& shape, const KernelRow& row,
                                   const RowQuestion& question) {
  if (question.problem.head_dim > shape.max_dim)
    return fmt::format("serves head dims up to {}", shape.max_dim);
  if (row.copy_bytes == 16 && question.any_layout)
    return "copies 16 bytes at a time: needs aligned bases and strides and innermost stride 1";
  if (row.copy_bytes == 16 && !rows_fill_units(question.problem))
    return "copies 16 bytes at a time: E and Ev must fill them";
  const std::int64_t bytes = portable_shared_bytes(row, question.problem);
  if (bytes > question.device.block_shared_bytes)
    return fmt::format("needs {} bytes of shared memory a block, the device has {}", bytes,
                       question.device.block_shared_bytes);
  return {};
}

/// What a class of portable rows has in common.
struct RowClass {
  std::span<const PortableShape> shapes;
  int copy_bytes = 16;
  std::string rejection;  ///< of all of them
  bool fast = false;
  bool is_decode = false;
};

void append_rows(std::vector<Candidate>& all, const RowClass& of, const RowQuestion& question) {
  for (const PortableShape& shape : of.shapes) {
    KernelRow row = portable_row(shape, of.copy_bytes, question.problem);
    if (of.is_decode) {
      row.name += "_pack_split";
      row.packs_group = row.splits_keys = true;
    }
    if (question.block_lists && !of.is_decode) {
      row.name += "_lists";
      row.walks_lists = true;
    }
    Candidate candidate{.row = std::move(row), .rejection = of.rejection, .fast = of.fast};
    if (candidate.rejection.empty())
      candidate.rejection = portable_row_rejection(shape, candidate.row, question);
    all.push_back(std::move(candidate));
  }
}

/// Copies by single elements: any strides.
int smallest_copy(const RowQuestion& question) {
  return question.problem.query_dtype == DType::kF32 ? 4 : 2;
}

std::string decode_rejection(const RowQuestion& question) {
  if (question.block_lists) return "walks no block lists and no mask map's spans";
  if (question.lengths != LengthClass::kDecode)
    return "for few query rows a group of heads and many keys";
  return portable_rejection(question);
}

}  // namespace

std::vector<Candidate> decode_candidates(const RowQuestion& question) {
  const bool is_float = question.problem.query_dtype == DType::kF32;
  const auto& shapes = is_float ? kFloatDecodeShapes : kHalfDecodeShapes;
  std::vector<Candidate> all;
  for (const int copy_bytes : {16, smallest_copy(question)})
    append_rows(all,
                {.shapes = shapes,
                 .copy_bytes = copy_bytes,
                 .rejection = decode_rejection(question),
                 .fast = copy_bytes == 16,
                 .is_decode = true},
                question);
  return all;
}

bool rows_fill_units(const Problem& problem) {
  return problem.head_dim * element_bytes(problem) % 16 == 0 &&
         problem.value_dim * element_bytes(problem) % 16 == 0;
}

std::vector<Candidate> portable_candidates(const RowQuestion& question) {
  const bool is_float = question.problem.query_dtype == DType::kF32;
  std::vector<Candidate> all;
  for (const int copy_bytes : {16, smallest_copy(question)}) {
    const auto& half = copy_bytes == 16 ? kAlignedHalfShapes : kHalfShapes;
    append_rows(all,
                {.shapes = is_float ? kFloatShapes : half,
                 .copy_bytes = copy_bytes,
                 .rejection = portable_rejection(question),
                 .fast = question.device.capability() != kHopper && copy_bytes == 16},
                question);
  }
  return all;
}

std::int64_t portable_shared_bytes(const KernelRow& row, const Problem& problem) {
  constexpr std::int64_t kNotesBytes = 128 * 8 + 32 + 32 + 64, kRowPadding = 16;
  const std::int64_t element = element_bytes(problem);
  const std::int64_t head_row = row.head_tile * element + kRowPadding;
  const std::int64_t value_row = row.value_tile * element + kRowPadding;
  return row.q_rows * head_row + row.key_stages * row.kv_rows * (head_row + value_row) +
         kNotesBytes;
}

}  // namespace tilewright::cuda
