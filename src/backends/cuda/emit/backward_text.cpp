#include "backends/cuda/emit/backward_text.h"

#include <fmt/format.h>

#include <set>

#include "backends/cuda/emit/capture_text.h"
#include "backends/cuda/emit/mods_text.h"
#include "base/check.h"

namespace tilewright::cuda {

namespace {

const char* backward_element(const Problem& problem) {
  if (problem.query_dtype == DType::kF32) return "F32";
  return problem.query_dtype == DType::kBF16 ? "Bf16" : "F16";
}

const char* boolean(bool value) { return value ? "true" : "false"; }

std::string kernel_name(const backends::EmitRequest& request, const BackwardRow& row,
                        const ModsText& mods) {
  const Problem& problem = request.problem;
  std::string name = fmt::format("attention_{}_e{}_v{}_{}", row.name, problem.head_dim,
                                 problem.value_dim, tilewright::name(problem.query_dtype));
  if (request.variant.ordered) name += "_ordered";
  if (mods.has_score) name += "_score";
  if (mods.has_mask) name += "_mask";
  return name + "_" + hex(request.program.structure_digest()).substr(0, 8);
}

std::string includes(const backends::EmitRequest& request, const BackwardRow& row) {
  const Problem& problem = request.problem;
  std::string text = "#include \"mods/emitted_mods.cuh\"\n";
  if (row.family == Family::kPortable)
    return text +
           "#include \"attention/backward_prepare.cuh\"\n"
           "#include \"attention/portable_backward.cuh\"\n"
           "#include \"attention/portable_gradient_finish.cuh\"\n";
  const std::set<std::int64_t> shapes{row.score_columns(), row.key_columns(problem.head_dim),
                                      row.key_columns(problem.value_dim),
                                      row.query_columns(problem.head_dim)};
  for (const std::int64_t columns : shapes)
    text += fmt::format("#include \"ptx/wgmma/m64n{}k16.cuh\"\n", columns);
  return text +
         "#include \"attention/backward_prepare.cuh\"\n"
         "#include \"attention/gradient_finish.cuh\"\n"
         "#include \"attention/hopper_backward.cuh\"\n";
}

std::string portable_variant(const backends::EmitRequest& request, const BackwardRow& row) {
  return fmt::format(
      "struct EmittedVariant {{\n"
      "  using Element = {};\n"
      "  static constexpr int kHeadTile = {};\n"
      "  static constexpr int kValueTile = {};\n"
      "  static constexpr int kKeyWarps = {};\n"
      "  static constexpr int kColumnWarps = {};\n"
      "  static constexpr int kStrips = {};\n"
      "  static constexpr int kQueryTile = {};\n"
      "  static constexpr int kChunk = {};\n"
      "  static constexpr int kSumStrips = {};\n"
      "  static constexpr int kQueryStages = {};\n"
      "  static constexpr int kGradStages = {};\n"
      "  static constexpr int kCopyBytes = {};\n"
      "  static constexpr bool kDeterministic = {};\n"
      "  static constexpr bool kWantsQuery = true, kWantsKey = true, kWantsValue = true;\n"
      "  static constexpr int kValueDim = kValueTile;\n"
      "}};\n",
      backward_element(request.problem), row.tile_columns(request.problem.head_dim),
      row.tile_columns(request.problem.value_dim), row.key_warps, row.column_warps, row.strips,
      row.query_tile, row.chunk, row.sum_strips, row.query_stages, row.grad_stages, row.copy_bytes,
      boolean(request.variant.ordered));
}

std::string variant(const backends::EmitRequest& request, const BackwardRow& row) {
  if (row.family == Family::kPortable) return portable_variant(request, row);
  return fmt::format(
      "struct EmittedVariant {{\n"
      "  using Element = {};\n"
      "  static constexpr int kHeadDim = {};\n"
      "  static constexpr int kValueDim = {};\n"
      "  static constexpr int kQueryTile = {};\n"
      "  static constexpr bool kSplitsKeys = {};\n"
      "  static constexpr int kQueryStages = {};\n"
      "  static constexpr int kGradStages = {};\n"
      "  static constexpr bool kDeterministic = {};\n"
      "  static constexpr bool kWalksLists = {};\n"
      "  static constexpr bool kReadsLengths = {};\n"
      "}};\n",
      backward_element(request.problem), request.problem.head_dim, request.problem.value_dim,
      row.query_tile, boolean(row.splits_keys), row.query_stages, row.grad_stages,
      boolean(request.variant.ordered), boolean(row.walks_lists), boolean(row.reads_lengths));
}

/// Fragments of one gradient as gradient_finish.cuh sees them.
struct FinishShape {
  const char* name;
  std::int64_t dim;
  std::int64_t columns;
  int tile_rows;
  bool splits_rows;
};

std::string finish_variant(const Problem& problem, const FinishShape& shape) {
  return fmt::format(
      "struct {}Finish {{\n"
      "  using Element = {};\n"
      "  static constexpr int kDim = {};\n"
      "  static constexpr int kColumns = {};\n"
      "  static constexpr int kTileRows = {};\n"
      "  static constexpr bool kSplitsRows = {};\n"
      "}};\n",
      shape.name, backward_element(problem), shape.dim, shape.columns, shape.tile_rows,
      boolean(shape.splits_rows));
}

std::string finish_kernel(const std::string& name, const FinishShape& shape) {
  return fmt::format(
      "extern \"C\" __global__ void __launch_bounds__(256) {}(\n"
      "    const __grid_constant__ tilewright::cuda::GradientFinishParams params) {{\n"
      "  tilewright::cuda::gradient_finish<tilewright::cuda::{}Finish>(params);\n"
      "}}\n",
      name, shape.name);
}

/// The end of a gradient of the portable family: sums of tile_rows x columns.
std::string portable_finish_kernel(const std::string& name, const Problem& problem,
                                   std::int64_t tile_rows, std::int64_t columns) {
  return fmt::format(
      "extern \"C\" __global__ void __launch_bounds__(256) {}(\n"
      "    const __grid_constant__ tilewright::cuda::GradientFinishParams params) {{\n"
      "  using namespace tilewright::cuda;\n"
      "  PortableGradientFinish<{}, {}, {}>{{params}}.run();\n"
      "}}\n",
      name, backward_element(problem), tile_rows, columns);
}

std::string portable_finish_kernels(const std::string& name, const Problem& problem,
                                    const BackwardRow& row) {
  const std::int64_t head_tile = row.tile_columns(problem.head_dim);
  const std::int64_t value_tile = row.tile_columns(problem.value_dim);
  return portable_finish_kernel(name + kFinishQuerySuffix, problem, row.query_tile, head_tile) +
         portable_finish_kernel(name + kFinishKeySuffix, problem, row.key_tile, head_tile) +
         portable_finish_kernel(name + kFinishValueSuffix, problem, row.key_tile, value_tile);
}

std::string main_kernels(const std::string& name, const BackwardRow& row) {
  const bool is_hopper = row.family == Family::kHopper;
  const bool is_extended = is_hopper && (row.walks_lists || row.reads_lengths);
  return fmt::format(
      "extern \"C\" __global__ void __launch_bounds__(128) {0}{1}(\n"
      "    const __grid_constant__ tilewright::cuda::BackwardPrepareParams params) {{\n"
      "  using Variant = tilewright::cuda::EmittedVariant;\n"
      "  tilewright::cuda::BackwardPrepare<Variant::Element, Variant::kValueDim,\n"
      "                                    Variant::kQueryTile>::of_block(params)\n"
      "      .run();\n"
      "}}\n"
      "extern \"C\" __global__ void __launch_bounds__({2}, 1) {0}(\n"
      "    const __grid_constant__ tilewright::cuda::{3} params,\n"
      "    const __grid_constant__ tilewright::cuda::EmittedMods::Bindings bindings) {{\n"
      "  tilewright::cuda::{4}<tilewright::cuda::EmittedVariant, tilewright::cuda::EmittedMods,\n"
      "                        tilewright::cuda::EmittedGradient>({5}bindings{6});\n"
      "}}\n",
      name, kPrepareSuffix, row.threads,
      is_extended ? "ExtendedBackwardParams"
      : is_hopper ? "BackwardParams"
                  : "PortableBackwardParams",
      is_hopper ? "hopper_backward" : "portable_backward",
      is_extended ? "params.backward, " : "params, ", is_extended ? ", &params.extension" : "");
}

/// The ends of the Hopper family's gradients: variants inside the namespace, kernels outside.
struct FinishText {
  std::string variants;
  std::string kernels;
};

FinishText hopper_finish(const std::string& name, const Problem& problem, const BackwardRow& row) {
  const FinishShape shapes[] = {
      {"Query", problem.head_dim, row.query_columns(problem.head_dim), row.query_tile,
       row.sums_by_rows()},
      {"Key", problem.head_dim, row.key_columns(problem.head_dim), row.key_tile, row.splits_keys},
      {"Value", problem.value_dim, row.key_columns(problem.value_dim), row.key_tile,
       row.splits_keys}};
  const char* const suffixes[] = {kFinishQuerySuffix, kFinishKeySuffix, kFinishValueSuffix};
  FinishText text;
  for (std::size_t i = 0; i < 3; ++i) {
    text.variants += finish_variant(problem, shapes[i]);
    text.kernels += finish_kernel(name + suffixes[i], shapes[i]);
  }
  return text;
}

}  // namespace

BackwardSource emit_backward(const backends::EmitRequest& request, const BackwardRow& row) {
  TILEWRIGHT_CHECK(request.derivative != nullptr);
  ModsText mods = mods_text(request);
  BackwardSource source;
  source.kernel_name = kernel_name(request, row, mods);
  const std::string& name = source.kernel_name;
  const bool has_captures = !mods.captures.loads.empty();
  source.capture_shape =
      capture_shape(row, request.problem, request.variant.ordered && mods.captures.has_gathers());
  const FinishText finish =
      row.family == Family::kHopper
          ? hopper_finish(name, request.problem, row)
          : FinishText{{}, portable_finish_kernels(name, request.problem, row)};
  source.text = includes(request, row) + kCaptureIncludes + "\nnamespace tilewright::cuda {\n\n" +
                mods.text + "\n" + mods.gradient + "\n" + variant(request, row) + finish.variants;
  if (has_captures)
    source.text += mods.captured + capture_variant_text(request.problem, source.capture_shape);
  source.text += "\n}  // namespace tilewright::cuda\n\n" + main_kernels(name, row) +
                 finish.kernels + capture_finish_text(name);
  if (has_captures) source.text += capture_kernels_text(name, source.capture_shape);
  source.capture_targets = std::move(mods.captures.targets);
  source.pyramids = std::move(mods.pyramids);
  return source;
}

}  // namespace tilewright::cuda
