#include "backends/cuda/launch/pyramid_launch.h"

namespace tilewright::cuda {

namespace {

constexpr unsigned kThreads = 256;
constexpr std::int64_t kBlockEntries = 8192;
constexpr int kLowerLevels = 9;

params::Pyramid params_of(const TensorView& table, const PyramidBinding& pyramid,
                          std::uint32_t axis) {
  params::Pyramid params{.table = address_of(table),
                         .cells = reinterpret_cast<DeviceAddress>(pyramid.cells),
                         .lines = pyramid.shape.lines,
                         .extent = pyramid.shape.extent,
                         .stride = stride_of(table, axis),
                         .line_extents = {},
                         .line_strides = {},
                         .line_axes = 0,
                         .dtype = static_cast<std::int32_t>(table.dtype),
                         .levels = pyramid.shape.levels,
                         .upper = 0};
  for (std::size_t i = 0; i < table.rank(); ++i) {
    if (i == axis) continue;
    params.line_extents[params.line_axes] = table.shape[i];
    params.line_strides[params.line_axes] = stride_of(table, i);
    ++params.line_axes;
  }
  return params;
}

void enqueue(const LaunchSite& site, FunctionHandle function, params::Pyramid& params) {
  const std::int64_t chunks = (params.extent + kBlockEntries - 1) / kBlockEntries;
  const std::int64_t blocks = params.lines * (params.upper != 0 ? 1 : chunks);
  void* arguments[] = {&params};
  site.gpu.driver().check(
      site.gpu.driver().launch(function, static_cast<unsigned>(blocks), 1, 1, kThreads, 1, 1, 0,
                               site.stream(), arguments, nullptr),
      "cuLaunchKernel", "the pyramid of a captured table");
}

}  // namespace

std::string pyramid_kernel_name(const std::string& kernel) { return kernel + "_pyramid"; }

std::string pyramid_kernel_text(const std::string& kernel) {
  return "\n#include \"mods/pyramid_build.cuh\"\n\nextern \"C\" __global__ void "
         "__launch_bounds__(256) " +
         pyramid_kernel_name(kernel) +
         "(\n    const __grid_constant__ tilewright::cuda::PyramidParams params) {\n"
         "  tilewright::cuda::build_pyramid(params);\n}\n";
}

std::size_t pyramid_bytes(const PyramidShape& shape) noexcept {
  return static_cast<std::size_t>(shape.cells * PyramidShape::kCellBytes + 255) / 256 * 256;
}

std::vector<PyramidBinding> build_pyramids(const LaunchSite& site, FunctionHandle function,
                                           std::span<const PyramidRequest> requests) {
  std::vector<PyramidBinding> pyramids;
  std::size_t bytes = 0;
  const auto table_of = [&](const PyramidRequest& request) -> const TensorView& {
    return site.launch.program.bindings().captures[request.capture];
  };
  for (const PyramidRequest& request : requests) {
    pyramids.push_back({.cells = nullptr, .shape = pyramid_shape(table_of(request), request.axis)});
    bytes += pyramid_bytes(pyramids.back().shape);
  }
  if (bytes == 0) return pyramids;
  DeviceAddress at = site.workspace.take(bytes);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    PyramidBinding& pyramid = pyramids[i];
    if (pyramid.shape.cells == 0) continue;
    pyramid.cells = reinterpret_cast<void*>(at);
    at += pyramid_bytes(pyramid.shape);
    params::Pyramid params = params_of(table_of(requests[i]), pyramid, requests[i].axis);
    enqueue(site, function, params);
    if (pyramid.shape.levels <= kLowerLevels) continue;
    params.upper = 1;
    enqueue(site, function, params);
  }
  return pyramids;
}

}  // namespace tilewright::cuda
