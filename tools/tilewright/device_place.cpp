#include "device_place.h"

#include <charconv>
#include <vector>

#include "backends/cuda/device/context_scope.h"
#include "backends/cuda/device/gpu.h"
#include "config.h"
#include "tilewright/error.h"

namespace tilewright::cli {

struct DevicePlace::Gpu {
  Gpu(std::shared_ptr<const cuda::Driver> opened, int ordinal) : gpu(std::move(opened), ordinal) {}
  cuda::Gpu gpu;

  const cuda::Driver& driver() const { return gpu.driver(); }
  cuda::ContextScope scope() const { return {gpu.driver(), gpu.context()}; }
};

namespace {

Device device_named(const std::string& name) {
  if (name.empty() || name == "cpu") return {};
  Device device{DeviceKind::kCuda, 0};
  if (name == "cuda") return device;
  if (name.starts_with("cuda:")) {
    const char* const end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + 5, end, device.ordinal);
    if (error == std::errc() && stop == end && device.ordinal >= 0) return device;
  }
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = "there is no such device",
               .where = "--device",
               .expected = "cpu, cuda or cuda:<n>",
               .got = name,
               .hint = {}});
}

std::shared_ptr<const cuda::Driver> opened_driver() {
  std::string why;
  if (auto driver = cuda::Driver::open(read_config().cuda_driver, why)) return driver;
  throw Error({.code = ErrorCode::kUnsupported,
               .what = "there is no GPU to put the tensors on",
               .where = "--device",
               .expected = "an NVIDIA driver with a device",
               .got = why,
               .hint = "`tilewright doctor` shows what was found"});
}

std::size_t bytes_of(const TensorView& view) {
  return static_cast<std::size_t>(element_count(view.shape)) * size_bytes(view.dtype);
}

OwnedTensor row_major(const TensorView& host) {
  OwnedTensor copy = make_tensor(host.dtype, host.shape);
  copy_elements(host, copy.view);
  return copy;
}

}  // namespace

DevicePlace::DevicePlace(const std::string& name) : device_(device_named(name)) {
  if (device_.kind == DeviceKind::kCuda)
    gpu_ = std::make_shared<Gpu>(opened_driver(), device_.ordinal);
}

DevicePlace::~DevicePlace() = default;

OwnedTensor DevicePlace::placed(const TensorView& host) const {
  if (!gpu_) return {.memory = nullptr, .view = host};
  const OwnedTensor source = row_major(host);
  const cuda::ContextScope scope = gpu_->scope();
  cuda::DeviceAddress address = 0;
  // One byte more, so that an empty tensor has an address too.
  gpu_->driver().check(gpu_->driver().allocate(&address, bytes_of(host) + 1), "cuMemAlloc",
                       "a tensor of the command line");
  OwnedTensor copy;
  copy.memory = {reinterpret_cast<void*>(address), [gpu = gpu_](void* memory) {
                   const cuda::ContextScope inside = gpu->scope();
                   gpu->driver().deallocate(reinterpret_cast<cuda::DeviceAddress>(memory));
                 }};
  copy.view = source.view;
  copy.view.data = copy.memory.get();
  copy.view.device = device_;
  gpu_->driver().check(gpu_->driver().copy_to_device(address, source.view.data, bytes_of(host)),
                       "cuMemcpyHtoD", "a tensor of the command line");
  return copy;
}

ForwardInputs DevicePlace::placed(const ForwardInputs& host,
                                  std::vector<OwnedTensor>& memory) const {
  const auto put = [&](const TensorView& view) {
    memory.push_back(placed(view));
    return memory.back().view;
  };
  return {put(host.query), put(host.key), put(host.value)};
}

ForwardOutputs DevicePlace::placed(const ForwardOutputs& host,
                                   std::vector<OwnedTensor>& memory) const {
  const auto put = [&](const TensorView& view) {
    memory.push_back(placed(view));
    return memory.back().view;
  };
  ForwardOutputs outputs{.out = put(host.out), .lse = {}, .max_scores = {}};
  if (host.lse) outputs.lse = put(*host.lse);
  if (host.max_scores) outputs.max_scores = put(*host.max_scores);
  return outputs;
}

Program DevicePlace::placed(const Program& program, std::vector<OwnedTensor>& memory) const {
  Program result = program;
  if (!gpu_) return result;
  const std::vector<std::string> names = program.capture_names();
  for (std::size_t slot = 0; slot < names.size(); ++slot) {
    memory.push_back(placed(program.bindings().captures[slot]));
    result.bind(names[slot], memory.back().view);
  }
  return result;
}

void DevicePlace::synchronise() const {
  if (!gpu_) return;
  const cuda::ContextScope scope = gpu_->scope();
  gpu_->driver().check(gpu_->driver().context_synchronize(), "cuCtxSynchronize",
                       to_string(device_));
}

void DevicePlace::fetch(const TensorView& placed, const TensorView& host) const {
  if (!gpu_) return;
  const OwnedTensor copy = make_tensor(host.dtype, host.shape);
  {
    const cuda::ContextScope scope = gpu_->scope();
    gpu_->driver().check(
        gpu_->driver().copy_to_host(
            copy.view.data, reinterpret_cast<cuda::DeviceAddress>(placed.data), bytes_of(host)),
        "cuMemcpyDtoH", to_string(device_));
  }
  copy_elements(copy.view, host);
}

void DevicePlace::fetch(const ForwardOutputs& placed, const ForwardOutputs& host) const {
  synchronise();
  fetch(placed.out, host.out);
  if (host.lse) fetch(*placed.lse, *host.lse);
  if (host.max_scores) fetch(*placed.max_scores, *host.max_scores);
}

void add_device_option(OptionList& list, std::string& name) {
  list.add({.name = "--device",
            .target = &name,
            .meaning = "where the tensors lie: cpu, cuda or cuda:<n>",
            .group = "Engine"});
}

}  // namespace tilewright::cli
