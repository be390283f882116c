#include "backends/cuda/emit/capture_text.h"

#include <fmt/format.h>

namespace tilewright::cuda {

namespace {

const char* element_of(const Problem& problem) {
  if (problem.query_dtype == DType::kF32) return "F32";
  return problem.query_dtype == DType::kBF16 ? "Bf16" : "F16";
}

}  // namespace

std::string capture_variant_text(const Problem& problem, const CaptureShape& shape) {
  return fmt::format(
      "struct EmittedCaptureVariant {{\n"
      "  using Element = {};\n"
      "  static constexpr int kHeadDim = {};\n"
      "  static constexpr int kValueDim = {};\n"
      "  static constexpr int kQueryTile = {};\n"
      "  static constexpr int kSlabColumns = {};\n"
      "  static constexpr int kCopyBytes = {};\n"
      "  static constexpr bool kWalksLists = {};\n"
      "  static constexpr bool kOrderedPairs = {};\n"
      "}};\n",
      element_of(problem), problem.head_dim, problem.value_dim, shape.query_tile,
      shape.slab_columns, shape.copy_bytes, shape.walks_lists, shape.ordered_pairs);
}

std::string capture_kernels_text(const std::string& kernel, const CaptureShape& shape) {
  return fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({}) {}{}(\n"
      "    const __grid_constant__ tilewright::cuda::CaptureParams params,\n"
      "    const __grid_constant__ tilewright::cuda::EmittedMods::Bindings bindings) {{\n"
      "  extern __shared__ __align__(1024) unsigned char memory[];\n"
      "  tilewright::cuda::CaptureGradients<tilewright::cuda::EmittedCaptureVariant,\n"
      "                                     tilewright::cuda::EmittedMods,\n"
      "                                     tilewright::cuda::EmittedCaptures>(params, bindings,\n"
      "                                                                        memory)\n"
      "      .run();\n"
      "}}\n",
      shape.threads(), kernel, kCaptureSuffix);
}

std::string capture_finish_text(const std::string& kernel) {
  return fmt::format(
      "extern \"C\" __global__ void __launch_bounds__(256) {}{}(\n"
      "    const __grid_constant__ tilewright::cuda::CaptureFinishParams params) {{\n"
      "  tilewright::cuda::capture_finish(params);\n"
      "}}\n",
      kernel, kCaptureFinishSuffix);
}

}  // namespace tilewright::cuda
