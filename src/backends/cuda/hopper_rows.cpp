#include "backends/cuda/hopper_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tilewright::cuda {

namespace {

constexpr std::int64_t kMaxHeadDim = 256;
constexpr std::int64_t kChunkColumns = 64;

struct Shape {
  int warpgroups;
  int kv_rows;
  int query_stages, key_stages, value_stages;
  std::int64_t max_head_dim, max_value_dim;
  bool defers_check;
  bool for_short = false;         ///< preferred while lengths are short
  bool spends_registers = false;  ///< leaves none for tables and a score_mod
};

/// docs/kernels/hopper_forward.md says what was measured.
constexpr std::array<Shape, 8> kShapes{{
    {2, 128, 2, 4, 4, 64, 64, true, true},
    {3, 128, 2, 4, 4, 64, 64, true, false, true},
    {2, 128, 2, 2, 2, 128, 128, false, true},
    {2, 128, 2, 3, 2, 128, 128, true},
    {2, 128, 1, 2, 2, 192, 128, false, false, true},
    {2, 112, 1, 2, 2, 192, 128, false},
    {2, 80, 1, 3, 2, 128, 256, true},
    {2, 64, 1, 3, 2, 256, 256, true},
}};

KernelRow row_of(const Shape& shape, const RowQuestion& question) {
  KernelRow row;
  row.name = fmt::format("hopper_w{}_n{}_s{}{}{}", shape.warpgroups, shape.kv_rows,
                         shape.query_stages, shape.key_stages, shape.value_stages);
  if (question.block_lists) row.name += "_lists";
  if (question.device_lengths) row.name += "_lengths";
  row.walks_lists = question.block_lists;
  row.reads_lengths = question.device_lengths;
  row.family = Family::kHopper;
  row.threads = 128 * (shape.warpgroups + 1);
  row.q_rows = 64 * shape.warpgroups;
  row.kv_rows = shape.kv_rows;
  row.consumer_warpgroups = shape.warpgroups;
  row.query_stages = shape.query_stages;
  row.key_stages = shape.key_stages;
  row.value_stages = shape.value_stages;
  row.ping_pong = shape.warpgroups > 1;
  row.defers_check = shape.defers_check;
  row.max_registers = 65536 / row.threads / 8 * 8;
  return row;
}

bool is_half(DType dtype) { return dtype == DType::kBF16 || dtype == DType::kF16; }

bool has_op(const ir::Program& program, ir::Op op) {
  return std::ranges::any_of(program.nodes(), [op](const ir::Node& node) { return node.op == op; });
}

/// What mods keep for each row, key or diagonal, and what a score_mod needs while it is computed,
/// take the registers that a third warpgroup or long keys leave to nobody. A soft cap by the
/// special-function unit needs none, and a third warpgroup keeps that unit busy.
bool needs_registers(const RowQuestion& question, int warpgroups) {
  const ir::Program& program = question.program;
  if (has_op(program, ir::Op::kLoad)) return true;
  const auto score = program.roots().score;
  const bool has_score_mod = score && program.node(*score).op != ir::Op::kScore;
  const bool caps_fast = question.fast_functions && has_op(program, ir::Op::tanh);
  return has_score_mod && !(caps_fast && warpgroups == 3);
}

/// Why no row of the family serves the question; empty: one may.
std::string family_rejection(const RowQuestion& question) {
  const Problem& problem = question.problem;
  if (question.device.capability() != 90)
    return fmt::format("needs compute capability 9.0, the device has {}.{}", question.device.major,
                       question.device.minor);
  const DType dtype = problem.query_dtype;
  if (!is_half(dtype)) return fmt::format("serves bf16 and f16, not {}", name(dtype));
  if (problem.key_dtype != dtype || problem.value_dtype != dtype || problem.out_dtype != dtype)
    return "query, key, value and out must have one dtype";
  if (problem.outputs.partial) return "writes no fp32 partial outputs";
  if (problem.kv_layout != KvLayout::kDense) return "keys and values must be dense";
  if (question.any_layout)
    return "the copy engine needs 16-byte aligned bases and strides and innermost stride 1";
  if (problem.head_dim % 8 != 0 || problem.value_dim % 8 != 0)
    return "head dims must be multiples of 8";
  return {};
}

std::string shape_rejection(const Shape& shape, const RowQuestion& question) {
  const Problem& problem = question.problem;
  if (problem.head_dim < 8 || problem.head_dim > shape.max_head_dim)
    return fmt::format("serves head dims 8 to {}", shape.max_head_dim);
  if (problem.value_dim < 8 || problem.value_dim > shape.max_value_dim)
    return fmt::format("serves value dims 8 to {}", shape.max_value_dim);
  if (shape.spends_registers && needs_registers(question, shape.warpgroups))
    return "leaves no registers for tables and a score_mod";
  if (shape.warpgroups == 3 && question.block_lists)
    return "tiles of 192 query rows seldom fill a block of rows";
  return {};
}

/// A tile in shared memory: chunks of 64 columns of 16-bit elements.
std::int64_t tile_bytes(std::int64_t rows, std::int64_t columns) {
  const std::int64_t chunks = (columns + kChunkColumns - 1) / kChunkColumns;
  return chunks * rows * kChunkColumns * 2;
}

}  // namespace

std::vector<Candidate> hopper_candidates(const RowQuestion& question) {
  static_assert(kMaxHeadDim == kShapes.back().max_head_dim);
  std::vector<Candidate> all;
  const std::string family = family_rejection(question);
  for (const Shape& shape : kShapes) {
    Candidate candidate{.row = row_of(shape, question), .rejection = family, .fast = true};
    if (candidate.rejection.empty()) candidate.rejection = shape_rejection(shape, question);
    all.push_back(std::move(candidate));
  }
  // The table pairs each short row with its long one, the short one in front: for few keys 192
  // query rows waste too much, and an early maximum costs less than doing tiles again.
  const bool is_short = question.lengths == LengthClass::kShort && !question.block_lists;
  for (std::size_t i = 0; i + 1 < kShapes.size(); ++i)
    if (kShapes[i].for_short && !is_short) std::swap(all[i], all[i + 1]);
  return all;
}

std::int64_t hopper_shared_bytes(const KernelRow& row, const Problem& problem) {
  constexpr std::int64_t kItemSlots = 6, kItemBytes = 32, kAlarmBytes = 8;
  constexpr std::int64_t kPlanSlots = 8, kNoteBytes = 8;
  constexpr std::int64_t kRingBytes = 16;  // of a stage: a full and an empty barrier
  const std::int64_t groups = row.consumer_warpgroups;
  const std::int64_t tiles = row.query_stages * groups * tile_bytes(64, problem.head_dim) +
                             row.key_stages * tile_bytes(row.kv_rows, problem.head_dim) +
                             row.value_stages * tile_bytes(row.kv_rows, problem.value_dim);
  const std::int64_t rings = kRingBytes * (row.key_stages + row.value_stages +
                                           groups * row.query_stages + kItemSlots + kPlanSlots);
  return tiles + kItemSlots * kItemBytes + (row.key_stages + kPlanSlots) * kNoteBytes + rings +
         groups * kAlarmBytes;
}

RegisterPlan hopper_registers(const KernelRow& row, const Problem& problem) {
  const auto fragment = static_cast<int>(row.kv_rows * 3 / 4 + problem.value_dim / 2);
  if (row.consumer_warpgroups == 3) return {.consumer = 160, .producer = 32};
  if (row.consumer_warpgroups == 1)
    return {.consumer = fragment >= 176 ? 232 : 240, .producer = 240};
  const int consumer = fragment >= 176 ? 232 : 224;
  return {.consumer = consumer, .producer = 504 - 2 * consumer};
}

}  // namespace tilewright::cuda
