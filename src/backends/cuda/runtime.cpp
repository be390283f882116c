#include "backends/cuda/runtime.h"

#include "tilewright/error.h"

namespace tilewright::cuda {

std::shared_ptr<const Driver> Runtime::find_driver(std::string& why) {
  const std::lock_guard lock(mutex_);
  if (!driver_tried_) {
    driver_tried_ = true;
    driver_ = Driver::open(options_.cuda_driver, why_no_driver_);
  }
  why = why_no_driver_;
  return driver_;
}

const Driver& Runtime::driver() {
  std::string why;
  if (const auto driver = find_driver(why)) return *driver;
  throw Error({.code = ErrorCode::kUnsupported,
               .what = "the CUDA backend has no driver or no device",
               .where = options_.cuda_driver.empty() ? "libcuda.so.1" : options_.cuda_driver,
               .expected = "an NVIDIA driver of CUDA 12 or later with a device of sm_80 or later",
               .got = why,
               .hint = "`tilewright doctor` shows what was found"});
}

const NvrtcChoice& Runtime::nvrtc_choice() {
  const int driver_major = driver().major();
  const std::lock_guard lock(mutex_);
  if (!nvrtc_)
    nvrtc_ = std::make_unique<NvrtcChoice>(find_nvrtc(nvrtc_places(options_), driver_major));
  return *nvrtc_;
}

const Nvrtc& Runtime::nvrtc() {
  const NvrtcChoice& choice = nvrtc_choice();
  if (choice.nvrtc) return *choice.nvrtc;
  std::string tried;
  for (const std::string& line : choice.tried) tried += "\n    " + line;
  throw Error(
      {.code = ErrorCode::kUnsupported,
       .what = "the CUDA backend has no compiler",
       .where = "libnvrtc",
       .expected = "NVRTC of the driver's CUDA " + std::to_string(driver().major()) + " or older",
       .got = tried.empty() ? "none found" : tried,
       .hint = "pip install nvidia-cuda-nvrtc, or name one with TILEWRIGHT_NVRTC"});
}

const KernelSources& Runtime::sources() {
  const std::lock_guard lock(mutex_);
  if (!sources_) sources_ = std::make_unique<KernelSources>(options_.kernel_dir);
  return *sources_;
}

void Runtime::require_ordinal(int ordinal) {
  if (ordinal >= 0 && ordinal < driver().devices()) return;
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = "there is no such CUDA device",
               .where = "cuda:" + std::to_string(ordinal),
               .expected = "0 to " + std::to_string(driver().devices() - 1),
               .got = std::to_string(ordinal),
               .hint = {}});
}

DeviceFacts Runtime::facts(int ordinal) {
  require_ordinal(ordinal);
  const std::lock_guard lock(mutex_);
  const auto found = facts_.find(ordinal);
  if (found != facts_.end()) return found->second;
  return facts_.emplace(ordinal, device_facts(*driver_, ordinal)).first->second;
}

std::shared_ptr<Gpu> Runtime::gpu(int ordinal) {
  require_ordinal(ordinal);
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Gpu>& gpu = gpus_[ordinal];
  if (!gpu) gpu = std::make_shared<Gpu>(driver_, ordinal);
  return gpu;
}

}  // namespace tilewright::cuda
