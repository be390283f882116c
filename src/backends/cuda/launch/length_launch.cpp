#include "backends/cuda/launch/length_launch.h"

namespace tilewright::cuda {

std::string length_maps_kernel_name(const std::string& kernel) { return kernel + "_length_maps"; }

std::string length_maps_kernel_text(const std::string& kernel) {
  return "\n#include \"attention/length_maps.cuh\"\n\nextern \"C\" __global__ void "
         "__launch_bounds__(32) " +
         length_maps_kernel_name(kernel) +
         "(\n    const __grid_constant__ tilewright::cuda::LengthMapParams params) {\n"
         "  tilewright::cuda::build_length_maps(params);\n}\n";
}

params::KeyLengths key_lengths(const LaunchSite& site) {
  const TensorView* const lengths = site.launch.kv_lengths;
  if (lengths == nullptr) return {};
  return {.of_batch = address_of(*lengths), .stride = stride_of(*lengths, 0)};
}

DeviceAddress build_value_maps(const LaunchSite& site, FunctionHandle function,
                               const params::Hopper& forward) {
  const auto batches = static_cast<unsigned>(site.launch.problem.batch);
  params::LengthMaps maps{.all = forward.value,
                          .maps = site.workspace.take(batches * sizeof(TensorMap)),
                          .lengths = key_lengths(site),
                          .kv_rows = forward.extents.kv_rows};
  void* arguments[] = {&maps};
  site.gpu.driver().check(site.gpu.driver().launch(function, batches, 1, 1, 32, 1, 1, 0,
                                                   site.stream(), arguments, nullptr),
                          "cuLaunchKernel", "the tensor maps of a call with key lengths");
  return maps.maps;
}

}  // namespace tilewright::cuda
