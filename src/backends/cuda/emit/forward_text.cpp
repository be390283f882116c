#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backends/cuda/emit/emit.h"
#include "backends/cuda/emit/mods_text.h"
#include "base/check.h"
#include "tilewright/error.h"

namespace tilewright::cuda {

namespace {

const char* element_tag(DType dtype) {
  switch (dtype) {
    case DType::kBF16:
      return "Bf16";
    case DType::kF16:
      return "F16";
    default:
      return "F32";
  }
}

const char* truth(bool value) { return value ? "true" : "false"; }

std::string kernel_name(const backends::EmitRequest& request, const KernelRow& row,
                        const ModsText& mods) {
  const Problem& problem = request.problem;
  std::string name = fmt::format("attention_{}_e{}_v{}_{}", row.name, problem.head_dim,
                                 problem.value_dim, tilewright::name(problem.query_dtype));
  if (mods.has_score) name += "_score";
  if (mods.has_mask) name += "_mask";
  if (mods.has_score || mods.has_mask)
    name += "_" + hex(request.program.structure_digest()).substr(0, 8);
  return name;
}

/// What both families know of a call beside its row.
std::string common_constants(const backends::EmitRequest& request, const KernelRow& row) {
  const Problem& problem = request.problem;
  return fmt::format(
      "  static constexpr int kPolynomialPeriod = {};\n"
      "  static constexpr bool kTracksMaximum = {};\n"
      "  static constexpr bool kScalesFirst = {};\n"
      "  static constexpr bool kWalksLists = {};\n",
      row.polynomial_period, truth(problem.outputs.max_scores), truth(scales_first(problem)),
      truth(row.walks_lists));
}

std::string hopper_variant(const backends::EmitRequest& request, const KernelRow& row) {
  const Problem& problem = request.problem;
  return fmt::format(
      "struct EmittedVariant {{\n"
      "  using Element = {};\n"
      "  static constexpr int kHeadDim = {};\n"
      "  static constexpr int kValueDim = {};\n"
      "  static constexpr int kWarpgroups = {};\n"
      "  static constexpr int kKeyTile = {};\n"
      "  static constexpr int kQueryStages = {};\n"
      "  static constexpr int kKeyStages = {};\n"
      "  static constexpr int kValueStages = {};\n"
      "  static constexpr bool kPingPong = {};\n"
      "  static constexpr bool kDefersCheck = {};\n"
      "  static constexpr bool kReadsLengths = {};\n"
      "{}}};\n",
      element_tag(problem.query_dtype), problem.head_dim, problem.value_dim,
      row.consumer_warpgroups, row.kv_rows, row.query_stages, row.key_stages, row.value_stages,
      truth(row.ping_pong), truth(row.defers_check), truth(row.reads_lengths),
      common_constants(request, row));
}

/// fp32 results of 16-bit inputs: what a merge of parts starts from.
bool writes_partials(const Problem& problem, const KernelRow& row) {
  return row.splits_keys ||
         (problem.out_dtype == DType::kF32 && problem.query_dtype != DType::kF32);
}

std::string portable_variant(const backends::EmitRequest& request, const KernelRow& row) {
  return fmt::format(
      "struct EmittedVariant {{\n"
      "  using Element = {};\n"
      "  static constexpr int kHeadTile = {};\n"
      "  static constexpr int kValueTile = {};\n"
      "  static constexpr int kWarps = {};\n"
      "  static constexpr int kStrips = {};\n"
      "  static constexpr int kKeyTile = {};\n"
      "  static constexpr int kStages = {};\n"
      "  static constexpr int kCopyBytes = {};\n"
      "  static constexpr bool kPacksGroup = {};\n"
      "  static constexpr bool kPartialOut = {};\n"
      "  static constexpr bool kTriesReference = {};\n"
      "  static constexpr bool kHoldsQuery = {};\n"
      "{}}};\n",
      element_tag(request.problem.query_dtype), row.head_tile, row.value_tile, row.warps,
      row.strips, row.kv_rows, row.key_stages, row.copy_bytes, truth(row.packs_group),
      truth(writes_partials(request.problem, row)), truth(row.tries_reference),
      truth(row.holds_query), common_constants(request, row));
}

/// Includes of the family, the matrix shapes it needs among them.
std::string includes(const Problem& problem, const KernelRow& row) {
  std::string text = "#include \"mods/emitted_mods.cuh\"\n";
  if (row.family == Family::kPortable)
    return text + "#include \"attention/portable_forward.cuh\"\n";
  for (const std::int64_t columns : std::set<std::int64_t>{row.kv_rows, problem.value_dim})
    text += fmt::format("#include \"ptx/wgmma/m64n{}k16.cuh\"\n", columns);
  return text + "#include \"attention/hopper_forward.cuh\"\n";
}

std::string kernel_text(const std::string& name, const KernelRow& row) {
  const bool is_hopper = row.family == Family::kHopper;
  constexpr int kRegistersOfMultiprocessor = 65536;
  const int blocks = std::max(1, kRegistersOfMultiprocessor / (row.threads * row.max_registers));
  const bool is_extended = is_hopper && (row.walks_lists || row.reads_lengths);
  return fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({}, {}) {}(\n"
      "    const __grid_constant__ tilewright::cuda::{}Params params,\n"
      "    const __grid_constant__ tilewright::cuda::EmittedMods::Bindings bindings) {{\n"
      "  tilewright::cuda::{}_forward<tilewright::cuda::EmittedVariant,\n"
      "                               tilewright::cuda::EmittedMods>({});\n"
      "}}\n",
      row.threads, blocks, name,
      is_extended ? "ExtendedForward"
      : is_hopper ? "Forward"
                  : "Portable",
      is_hopper ? "hopper" : "portable",
      is_extended ? "params.forward, bindings, &params.extension" : "params, bindings");
}

void require_small_block(std::size_t bytes) {
  if (bytes <= BlockLayout::kMaxBytes) return;
  throw Error({.code = ErrorCode::kUnsupported,
               .what = "captures and numbers do not fit a kernel's parameters",
               .where = "program",
               .expected = fmt::format("at most {} bytes", BlockLayout::kMaxBytes),
               .got = fmt::format("{} bytes", bytes),
               .hint = "join tensors of one shape and dtype into one with a leading axis"});
}

}  // namespace

bool scales_first(const Problem& problem) noexcept {
  return !(static_cast<float>(problem.scale_or_default()) > 0);
}

ForwardSource emit_forward(const backends::EmitRequest& request, const KernelRow& row) {
  ModsText mods = mods_text(request);
  require_small_block(BlockLayout(request.program, mods.pyramids).bytes());
  ForwardSource source;
  source.kernel_name = kernel_name(request, row, mods);
  source.text = includes(request.problem, row) + "\nnamespace tilewright::cuda {\n\n" + mods.text +
                "\n" +
                (row.family == Family::kHopper ? hopper_variant(request, row)
                                               : portable_variant(request, row)) +
                "\n}  // namespace tilewright::cuda\n\n" + kernel_text(source.kernel_name, row);
  source.pyramids = std::move(mods.pyramids);
  return source;
}

}  // namespace tilewright::cuda
