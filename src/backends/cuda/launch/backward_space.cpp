#include "backends/cuda/launch/backward_space.h"

#include <algorithm>

#include "backends/cuda/launch/portable_launch.h"
#include "backends/cuda/launch/tensor_map.h"

namespace tilewright::cuda {

bool lies_in_vectors(const TensorView& tensor, DType element) noexcept {
  if (tensor.dtype != element || reinterpret_cast<std::uintptr_t>(tensor.data) % 16 != 0)
    return false;
  if (tensor.shape[3] % 8 != 0 || (tensor.shape[3] > 1 && tensor.strides[3] != 1)) return false;
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (stride_of(tensor, axis) % 8 != 0) return false;
  return true;
}

params::Extents extents_of(const Problem& problem) noexcept {
  return {.batches = static_cast<std::int32_t>(problem.batch),
          .query_heads = static_cast<std::int32_t>(problem.query_heads),
          .group_heads = static_cast<std::int32_t>(problem.group()),
          .kv_batches = static_cast<std::int32_t>(problem.kv_batch),
          .query_rows = static_cast<std::int32_t>(problem.q_len),
          .kv_rows = static_cast<std::int32_t>(problem.kv_len)};
}

namespace {

constexpr std::size_t kAlignment = 256;

std::size_t aligned(std::size_t bytes) noexcept {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::size_t size_of(std::int64_t value) noexcept { return static_cast<std::size_t>(value); }

/// A row without live pairs has no influence whatever d_out holds, but 0 * NaN would.
bool may_have_empty_rows(const Program& program) noexcept {
  return program.has_mask_mod() || program.structure().roots().score.has_value();
}

bool copies_d_out(const BackwardSite& site) {
  const TensorView& d_out = site.launch.inputs.d_out;
  const DType element = site.launch.problem.query_dtype;
  if (site.row.walks_lists || site.launch.kv_lengths != nullptr || d_out.dtype != element ||
      may_have_empty_rows(site.launch.program))
    return true;
  if (site.row.family == Family::kPortable) return !allows_copies(d_out, site.row.copy_bytes);
  return !lies_in_vectors(d_out, element) || !tensor_map_rejection(d_out, "d_out").empty();
}

/// A gradient of keys that is not stored by the main kernel itself.
bool needs_sums(const std::optional<TensorView>& gradient, const BackwardSite& site,
                const BackwardCut& cut) {
  if (!gradient) return false;
  const DType element = site.launch.problem.query_dtype;
  if (cut.parts > 1 || gradient->dtype != element) return true;
  return site.row.family == Family::kHopper && !lies_in_vectors(*gradient, element);
}

std::size_t key_sum_bytes(const BackwardRow& row, const Problem& problem, const BackwardCut& cut,
                          std::int64_t dim) {
  return size_of(4 * cut.parts * key_heads_of(problem) * cut.kv_tiles * row.key_sum_floats(dim));
}

/// What every call needs.
BackwardSpace common_space(const BackwardRow& row, const Problem& problem, const BackwardCut& cut,
                           bool ordered) {
  const std::int64_t tiles = streams_of(problem) * cut.q_tiles;
  BackwardSpace space;
  space.minus_lse.bytes = space.delta.bytes = size_of(4 * tiles * row.query_tile);
  space.d_query_sums.bytes = size_of(4 * tiles * row.query_sum_floats(problem.head_dim));
  if (ordered) space.turns.bytes = size_of(8 * tiles);
  return space;
}

/// Two items a multiprocessor, where that many heads share the keys.
std::int64_t enough_parts(std::int64_t tiles, std::int64_t sharing, int multiprocessors) {
  const std::int64_t wanted = 2 * std::int64_t{multiprocessors};
  if (tiles <= 0 || tiles >= wanted) return 1;
  return std::clamp<std::int64_t>((wanted + tiles - 1) / tiles, 1,
                                  std::max<std::int64_t>(sharing, 1));
}

/// How long items take that one block a multiprocessor takes in turn, in units of a key tile with
/// all its heads. Where a mask skips tiles the longest come first and on average half is skipped;
/// then about 0.6 of the longest item sticks out at the end. Partial results cost, and each part a
/// little. docs/kernels/hopper_backward.md has the measurements.
double duration_in_tiles(std::int64_t tiles, std::int64_t parts, int multiprocessors, bool uneven) {
  const auto count = static_cast<double>(parts);
  const std::int64_t waves = (tiles * parts + multiprocessors - 1) / multiprocessors;
  const double even = static_cast<double>(waves) / count;
  const double skipping = static_cast<double>(tiles) / (2.0 * multiprocessors) + 0.6 / count;
  const double partial = parts == 1 ? 1.0 : 1.03 + 0.005 * count;
  return (uneven ? skipping : even) * partial;
}

std::int64_t quickest_parts(std::int64_t tiles, std::int64_t sharing, int multiprocessors,
                            bool uneven) {
  constexpr std::int64_t kMostParts = 16;
  if (tiles >= 2 * std::int64_t{multiprocessors}) return 1;
  std::int64_t best = 1;
  for (std::int64_t parts = 2; parts <= std::min(sharing, kMostParts); ++parts)
    if (duration_in_tiles(tiles, parts, multiprocessors, uneven) <
        duration_in_tiles(tiles, best, multiprocessors, uneven))
      best = parts;
  return best;
}

std::size_t key_map_bytes(const Problem& problem) {
  return size_of(problem.kv_batch) * sizeof(TensorMap);
}

std::size_t copy_bytes(const Problem& problem) {
  const auto element = static_cast<std::int64_t>(size_bytes(problem.query_dtype));
  return size_of(element * streams_of(problem) * problem.q_len * padded_value_columns(problem));
}

}  // namespace

params::TensorStrides d_out_copy_strides(const Problem& problem) noexcept {
  const std::int64_t row = padded_value_columns(problem);
  return {.batch = problem.query_heads * problem.q_len * row,
          .head = problem.q_len * row,
          .row = row,
          .column = 1};
}

std::size_t BackwardSpace::bytes() const noexcept {
  std::size_t all = 0;
  for (const Part* part : {&minus_lse, &delta, &d_query_sums, &turns, &d_out_copy, &d_key_sums,
                           &d_value_sums, &key_maps})
    all += aligned(part->bytes);
  return all;
}

void BackwardSpace::place(DeviceAddress at) noexcept {
  for (Part* part : {&minus_lse, &delta, &d_query_sums, &turns, &d_out_copy, &d_key_sums,
                     &d_value_sums, &key_maps}) {
    part->address = part->bytes != 0 ? at : 0;
    at += aligned(part->bytes);
  }
}

params::QueryCut query_cut(std::int64_t query_tile, std::int64_t block_rows) noexcept {
  const auto tile = static_cast<std::int32_t>(query_tile);
  if (block_rows == 0) return {.tile_rows = tile, .block_tiles = 1, .block_rows = tile};
  const auto rows = static_cast<std::int32_t>(block_rows);
  const std::int32_t tiles = (rows - 1) / tile + 1;
  return {.tile_rows = (rows - 1) / tiles + 1, .block_tiles = tiles, .block_rows = rows};
}

std::int64_t query_tiles(const params::QueryCut& cut, std::int64_t q_len) noexcept {
  const std::int64_t blocks = q_len / cut.block_rows;
  const std::int64_t rest = q_len - blocks * cut.block_rows;
  return blocks * cut.block_tiles + (rest + cut.tile_rows - 1) / cut.tile_rows;
}

BackwardCut cut_of(const BackwardRow& row, const Problem& problem, bool ordered,
                   int multiprocessors, bool uneven) {
  BackwardCut cut{.rows = query_cut(row.query_tile, 0)};
  cut.q_tiles = query_tiles(cut.rows, problem.q_len);
  cut.kv_tiles = (problem.kv_len + row.key_tile - 1) / row.key_tile;
  const std::int64_t tiles = key_heads_of(problem) * cut.kv_tiles;
  const std::int64_t sharing = problem.group() * (problem.kv_batch == 1 ? problem.batch : 1);
  // In a fixed order the parts of one batch entry are those that it has alone.
  const std::int64_t counted = ordered ? problem.kv_heads * cut.kv_tiles : tiles;
  if (row.family == Family::kPortable) {
    cut.parts = enough_parts(counted, sharing, multiprocessors);
  } else {
    cut.parts = quickest_parts(counted, sharing, multiprocessors, uneven);
  }
  cut.items = tiles * cut.parts;
  return cut;
}

void keep_in_blocks(BackwardCut& cut, const Problem& problem, std::int64_t block_rows) noexcept {
  cut.rows = query_cut(cut.rows.tile_rows, block_rows);
  cut.q_tiles = query_tiles(cut.rows, problem.q_len);
}

BackwardSpace backward_space(const BackwardSite& site, const BackwardCut& cut) {
  const Problem& problem = site.launch.problem;
  const BackwardOutputs& outputs = site.launch.outputs;
  BackwardSpace space = common_space(site.row, problem, cut, site.ordered);
  if (copies_d_out(site)) space.d_out_copy.bytes = copy_bytes(problem);
  if (needs_sums(outputs.d_key, site, cut))
    space.d_key_sums.bytes = key_sum_bytes(site.row, problem, cut, problem.head_dim);
  if (needs_sums(outputs.d_value, site, cut))
    space.d_value_sums.bytes = key_sum_bytes(site.row, problem, cut, problem.value_dim);
  if (site.row.reads_lengths) space.key_maps.bytes = key_map_bytes(problem);
  return space;
}

std::size_t backward_space_bytes(const BackwardRow& row, const Problem& problem, bool ordered,
                                 int multiprocessors, bool uneven) {
  const BackwardCut cut = cut_of(row, problem, ordered, multiprocessors, uneven);
  BackwardSpace space = common_space(row, problem, cut, ordered);
  space.d_out_copy.bytes = copy_bytes(problem);
  space.d_key_sums.bytes = key_sum_bytes(row, problem, cut, problem.head_dim);
  space.d_value_sums.bytes = key_sum_bytes(row, problem, cut, problem.value_dim);
  if (row.reads_lengths) space.key_maps.bytes = key_map_bytes(problem);
  return space.bytes();
}

}  // namespace tilewright::cuda
