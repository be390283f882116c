#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "backends/cuda/launch/backward_params.h"
#include "backends/cuda/launch/capture_params.h"
#include "backends/cuda/launch/forward_params.h"
#include "backends/cuda/launch/length_launch.h"
#include "backends/cuda/launch/map_launch.h"
#include "backends/cuda/nvrtc/nvrtc_search.h"
#include "backends/cuda/sources/kernel_sources.h"

// The host's mirrors of kernel parameters against the kernels' own declarations, by the compiler
// that compiles kernels.
namespace tilewright::cuda {
namespace {

std::shared_ptr<const Nvrtc> real_nvrtc(std::string& why) {
  backends::BackendOptions options;
  if (const char* const chosen = std::getenv("TILEWRIGHT_NVRTC")) options.nvrtc = chosen;
  constexpr int kAnyMajor = 99;
  NvrtcChoice choice = find_nvrtc(nvrtc_places(options), kAnyMajor);
  why = choice.reason;
  return choice.nvrtc;
}

/// NVRTC has no offsetof; the operator behind its own headers' offsetof does.
std::string assertion(const std::string& type, const char* member, std::size_t offset) {
  return "static_assert(__INTADDR__(&((static_cast<tilewright::cuda::" + type + "*>(nullptr))->" +
         member + ")) == " + std::to_string(offset) + ");\n";
}

std::string size_assertion(const std::string& type, std::size_t bytes) {
  return "static_assert(sizeof(tilewright::cuda::" + type + ") == " + std::to_string(bytes) +
         ");\n";
}

std::string hopper_text() {
  using Params = params::Hopper;
  const std::string type = "ForwardParams";
  return "#include \"attention/forward_params.cuh\"\n" + size_assertion(type, sizeof(Params)) +
         assertion(type, "key", offsetof(Params, key)) +
         assertion(type, "out", offsetof(Params, out)) +
         assertion(type, "max_scores", offsetof(Params, max_scores)) +
         assertion(type, "error", offsetof(Params, error)) +
         assertion(type, "out_strides.row", offsetof(Params, out_strides.row)) +
         assertion(type, "lse_strides", offsetof(Params, lse_strides)) +
         assertion(type, "schedule.counters", offsetof(Params, schedule.counters)) +
         assertion(type, "schedule.last_tile_first", offsetof(Params, schedule.last_tile_first)) +
         assertion(type, "extents.kv_rows", offsetof(Params, extents.kv_rows)) +
         assertion(type, "scale_log2", offsetof(Params, scale_log2));
}

std::string extended_text() {
  using Params = params::ExtendedHopper;
  const std::string type = "ExtendedForwardParams";
  return "#include \"attention/forward_params.cuh\"\n"
         "#include \"attention/length_maps.cuh\"\n" +
         size_assertion(type, sizeof(Params)) +
         assertion(type, "extension.lists.spans.heads", offsetof(Params, lists.spans.heads)) +
         assertion(type, "extension.lists.block_tiles", offsetof(Params, lists.block_tiles)) +
         assertion(type, "extension.lengths.stride", offsetof(Params, lengths.stride)) +
         assertion(type, "extension.value_maps", offsetof(Params, value_maps)) +
         size_assertion("LengthMapParams", sizeof(params::LengthMaps)) +
         assertion("LengthMapParams", "kv_rows", offsetof(params::LengthMaps, kv_rows));
}

std::string map_text() {
  using Params = params::MaskSpans;
  const std::string type = "MaskSpanParams";
  return "#include \"attention/mask_spans.cuh\"\n" + size_assertion(type, sizeof(Params)) +
         assertion(type, "capacity", offsetof(Params, capacity)) +
         assertion(type, "q_block_rows", offsetof(Params, q_block_rows)) +
         assertion(type, "kv_rows", offsetof(Params, kv_rows)) +
         "static_assert(tilewright::cuda::kMapKeys == 128 && tilewright::cuda::kMapWarps == 4);\n";
}

std::string portable_text() {
  using Params = params::Portable;
  const std::string type = "PortableParams";
  return "#include \"attention/portable_params.cuh\"\n" + size_assertion(type, sizeof(Params)) +
         assertion(type, "max_scores", offsetof(Params, max_scores)) +
         assertion(type, "value_strides.column", offsetof(Params, value_strides.column)) +
         assertion(type, "lse_strides.row", offsetof(Params, lse_strides.row)) +
         assertion(type, "lists.ranges", offsetof(Params, lists.ranges)) +
         assertion(type, "lists.heads", offsetof(Params, lists.heads)) +
         assertion(type, "schedule.items", offsetof(Params, schedule.items)) +
         assertion(type, "schedule.split_keys", offsetof(Params, schedule.split_keys)) +
         assertion(type, "schedule.block_tiles", offsetof(Params, schedule.block_tiles)) +
         assertion(type, "extents.group_heads", offsetof(Params, extents.group_heads)) +
         assertion(type, "value_dim", offsetof(Params, value_dim)) +
         assertion(type, "scale_log2", offsetof(Params, scale_log2)) +
         assertion(type, "lengths.stride", offsetof(Params, lengths.stride));
}

std::string backward_text() {
  using Prepare = params::BackwardPrepare;
  using Params = params::HopperBackward;
  using Finish = params::GradientFinish;
  const std::string type = "BackwardParams", prepare = "BackwardPrepareParams";
  const std::string finish = "GradientFinishParams";
  return "#include \"attention/backward_params.cuh\"\n"
         "#include \"attention/backward_prepare.cuh\"\n"
         "#include \"attention/gradient_finish.cuh\"\n" +
         size_assertion(type, sizeof(Params)) + size_assertion(prepare, sizeof(Prepare)) +
         size_assertion(finish, sizeof(Finish)) +
         assertion(type, "d_out", offsetof(Params, d_out)) +
         assertion(type, "d_value_sums", offsetof(Params, d_value_sums)) +
         assertion(type, "error", offsetof(Params, error)) +
         assertion(type, "d_value_strides.row", offsetof(Params, d_value_strides.row)) +
         assertion(type, "schedule.parts", offsetof(Params, schedule.parts)) +
         assertion(type, "q_tiles", offsetof(Params, q_tiles)) +
         assertion(prepare, "turns", offsetof(Prepare, turns)) +
         assertion(prepare, "d_lse_strides.row", offsetof(Prepare, d_lse_strides.row)) +
         assertion(prepare, "sum_floats", offsetof(Prepare, sum_floats)) +
         assertion(prepare, "d_lse_kind", offsetof(Prepare, d_lse_kind)) +
         assertion(prepare, "d_out_in_vectors", offsetof(Prepare, d_out_in_vectors)) +
         assertion(finish, "column_stride", offsetof(Finish, column_stride)) +
         assertion(finish, "factor", offsetof(Finish, factor)) +
         assertion(finish, "kind", offsetof(Finish, kind)) +
         assertion(finish, "dim", offsetof(Finish, dim)) +
         assertion(finish, "cut.block_rows", offsetof(Finish, cut.block_rows)) +
         assertion(prepare, "value_dim", offsetof(Prepare, value_dim)) +
         assertion(prepare, "cut.block_tiles", offsetof(Prepare, cut.block_tiles)) +
         "using namespace tilewright::cuda;\n"
         "static_assert(static_cast<int>(FloatKind::kF64) == " +
         std::to_string(static_cast<int>(DType::kF64)) +
         ");\nstatic_assert(static_cast<int>(FloatKind::kBf16) == " +
         std::to_string(static_cast<int>(DType::kBF16)) + ");\n";
}

std::string extended_backward_text() {
  using Params = params::ExtendedHopperBackward;
  const std::string type = "ExtendedBackwardParams";
  return "#include \"attention/backward_extension.cuh\"\n" + size_assertion(type, sizeof(Params)) +
         assertion(type, "extension.lists.heads", offsetof(Params, lists.heads)) +
         assertion(type, "extension.lengths.stride", offsetof(Params, lengths.stride)) +
         assertion(type, "extension.keys", offsetof(Params, keys)) +
         assertion(type, "extension.cut.block_rows", offsetof(Params, cut.block_rows));
}

std::string capture_text() {
  using Params = params::Captures;
  using Finish = params::CaptureFinish;
  const std::string type = "CaptureParams", finish = "CaptureFinishParams";
  return "#include \"attention/capture_params.cuh\"\n"
         "#include \"attention/capture_finish.cuh\"\n" +
         size_assertion(type, sizeof(Params)) + size_assertion(finish, sizeof(Finish)) +
         assertion(type, "error", offsetof(Params, error)) +
         assertion(type, "d_out_strides.column", offsetof(Params, d_out_strides.column)) +
         assertion(type, "target[15].copy_floats", offsetof(Params, target[15].copy_floats)) +
         assertion(type, "schedule.chunk_keys", offsetof(Params, schedule.chunk_keys)) +
         assertion(type, "stream_rows", offsetof(Params, stream_rows)) +
         assertion(type, "row_cut.block_rows", offsetof(Params, row_cut.block_rows)) +
         assertion(type, "lengths.stride", offsetof(Params, lengths.stride)) +
         assertion(finish, "stride", offsetof(Finish, stride)) +
         assertion(finish, "kind", offsetof(Finish, kind));
}

std::string portable_backward_text() {
  using Params = params::PortableBackward;
  const std::string type = "PortableBackwardParams";
  return "#include \"attention/portable_backward_params.cuh\"\n" +
         size_assertion(type, sizeof(Params)) + assertion(type, "d_out", offsetof(Params, d_out)) +
         assertion(type, "turns", offsetof(Params, turns)) +
         assertion(type, "d_value_sums", offsetof(Params, d_value_sums)) +
         assertion(type, "error", offsetof(Params, error)) +
         assertion(type, "d_value_strides.column", offsetof(Params, d_value_strides.column)) +
         assertion(type, "lists.ranges", offsetof(Params, lists.ranges)) +
         assertion(type, "schedule.parts", offsetof(Params, schedule.parts)) +
         assertion(type, "extents.kv_rows", offsetof(Params, extents.kv_rows)) +
         assertion(type, "lengths.stride", offsetof(Params, lengths.stride)) +
         assertion(type, "cut.block_rows", offsetof(Params, cut.block_rows)) +
         assertion(type, "value_dim", offsetof(Params, value_dim)) +
         assertion(type, "d_value_in_vectors", offsetof(Params, d_value_in_vectors)) +
         assertion(type, "lse_has_gradient", offsetof(Params, lse_has_gradient)) +
         assertion(type, "scale_log2", offsetof(Params, scale_log2));
}

class KernelStructs : public ::testing::TestWithParam<std::string> {};

TEST_P(KernelStructs, LieInMemoryAsTheHostWritesThem) {
  std::string why;
  const auto nvrtc = real_nvrtc(why);
  if (!nvrtc) GTEST_SKIP() << why;
  const CompileResult result =
      nvrtc->compile({.file_name = "structs.cu",
                      .text = KernelSources("").inlined(GetParam()),
                      .options = {"--std=c++20", "--gpu-architecture=compute_90"},
                      .to_ptx = true});
  EXPECT_TRUE(result.succeeded) << result.log;
}

std::string family_name(const ::testing::TestParamInfo<std::string>& info) {
  constexpr std::array kNames{"Hopper",   "Extended",         "Map",      "Portable",
                              "Backward", "ExtendedBackward", "Captures", "PortableBackward"};
  return kNames.at(info.index);
}

INSTANTIATE_TEST_SUITE_P(Families, KernelStructs,
                         ::testing::Values(hopper_text(), extended_text(), map_text(),
                                           portable_text(), backward_text(),
                                           extended_backward_text(), capture_text(),
                                           portable_backward_text()),
                         family_name);

TEST(KernelStructsCheck, AWrongOffsetIsNoticed) {
  std::string why;
  const auto nvrtc = real_nvrtc(why);
  if (!nvrtc) GTEST_SKIP() << why;
  const std::string wrong = "#include \"attention/forward_params.cuh\"\n" +
                            assertion("ForwardParams", "out", offsetof(params::Hopper, out) + 8);
  const CompileResult result =
      nvrtc->compile({.file_name = "structs.cu",
                      .text = KernelSources("").inlined(wrong),
                      .options = {"--std=c++20", "--gpu-architecture=compute_90"},
                      .to_ptx = true});
  EXPECT_FALSE(result.succeeded);
}

}  // namespace
}  // namespace tilewright::cuda
