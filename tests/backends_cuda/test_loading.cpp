#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cuda/compile/compiler.h"
#include "backends/cuda/nvrtc/nvrtc_search.h"
#include "backends_cuda/fakes.h"
#include "engine/calls.h"

// Where libcuda and NVRTC come from, with fake libraries in folders of the tests' own.
namespace tilewright::cuda {
namespace {

using fakes::install_nvrtc;

TEST(DriverLoading, AMissingDriverIsNamedWithTheLoadersReason) {
  std::string why;
  EXPECT_EQ(Driver::open("/nowhere/libcuda.so.1", why), nullptr);
  EXPECT_NE(why.find("/nowhere/libcuda.so.1"), std::string::npos) << why;
}

TEST(DriverLoading, ALibraryWithoutTheDriversFunctionsIsTooOld) {
  std::string why;
  EXPECT_EQ(Driver::open(fakes::library("fake_nvrtc_13"), why), nullptr);
  EXPECT_NE(why.find("too old: it has no cuInit"), std::string::npos) << why;
}

TEST(DriverLoading, AFailedInitialisationAndNoDevicesAreReasons) {
  fake::FakeDriver& state = fakes::driver_state();
  std::string why;
  state.fail_init = 100;
  EXPECT_EQ(Driver::open(fakes::driver_library(), why), nullptr);
  EXPECT_NE(why.find("cuInit: CUDA_ERROR_FAKE"), std::string::npos) << why;
  state.fail_init = 0;
  state.devices = 0;
  EXPECT_EQ(Driver::open(fakes::driver_library(), why), nullptr);
  EXPECT_EQ(why, "the driver finds no device");
}

TEST(DriverLoading, ADriverTellsVersionAndDevices) {
  fakes::driver_state().version = 12080;
  std::string why;
  const auto driver = Driver::open(fakes::driver_library(), why);
  ASSERT_NE(driver, nullptr) << why;
  EXPECT_EQ(driver->version_text(), "12.8");
  EXPECT_EQ(driver->devices(), 2);
}

TEST(NvrtcSearch, TheChosenOneWinsAndNothingElseIsTried) {
  const testing::ScratchFolder scratch;
  NvrtcPlaces places;
  places.chosen = install_nvrtc(13, scratch.path() / "chosen");
  places.site_packages = {(scratch.path() / "site").string()};
  install_nvrtc(13, scratch.path() / "site/nvidia/cu13/lib");
  const NvrtcChoice choice = find_nvrtc(places, 13);
  ASSERT_NE(choice.nvrtc, nullptr);
  EXPECT_EQ(choice.nvrtc->path(), places.chosen);
  EXPECT_NE(choice.reason.find("TILEWRIGHT_NVRTC"), std::string::npos) << choice.reason;

  places.chosen = (scratch.path() / "empty").string();
  EXPECT_EQ(find_nvrtc(places, 13).nvrtc, nullptr) << "a wrong choice must not fall through";
}

TEST(NvrtcSearch, AFolderMayBeChosen) {
  const testing::ScratchFolder scratch;
  NvrtcPlaces places;
  places.chosen = (scratch.path() / "lib").string();
  const std::string file = install_nvrtc(12, places.chosen);
  const NvrtcChoice choice = find_nvrtc(places, 13);
  ASSERT_NE(choice.nvrtc, nullptr);
  EXPECT_EQ(choice.nvrtc->path(), file);
}

TEST(NvrtcSearch, LoadedComesBeforeWheelsBeforeToolkits) {
  const testing::ScratchFolder scratch;
  NvrtcPlaces places;
  places.site_packages = {(scratch.path() / "site").string()};
  places.toolkits = {(scratch.path() / "toolkit").string()};
  const std::string toolkit = install_nvrtc(13, scratch.path() / "toolkit/lib64");
  EXPECT_EQ(find_nvrtc(places, 13).nvrtc->path(), toolkit);

  const std::string wheel = install_nvrtc(12, scratch.path() / "site/nvidia/cuda_nvrtc/lib");
  EXPECT_EQ(find_nvrtc(places, 13).nvrtc->path(), wheel);

  const std::string newer_wheel = install_nvrtc(13, scratch.path() / "site/nvidia/cu13/lib");
  EXPECT_EQ(find_nvrtc(places, 13).nvrtc->path(), newer_wheel);

  const std::string loaded = install_nvrtc(12, scratch.path() / "torch");
  void* const handle = ::dlopen(loaded.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(handle, nullptr);
  const NvrtcPlaces here = nvrtc_places({});
  places.loaded = here.loaded;
  EXPECT_EQ(find_nvrtc(places, 13).nvrtc->path(), loaded);
  ::dlclose(handle);
}

TEST(NvrtcSearch, NeverANewerMajorThanTheDrivers) {
  const testing::ScratchFolder scratch;
  NvrtcPlaces places;
  places.site_packages = {(scratch.path() / "site").string()};
  places.toolkits = {(scratch.path() / "toolkit").string()};
  install_nvrtc(14, scratch.path() / "site/nvidia/cuda_nvrtc/lib");
  const std::string fitting = install_nvrtc(13, scratch.path() / "toolkit/lib64");
  const NvrtcChoice choice = find_nvrtc(places, 13);
  ASSERT_NE(choice.nvrtc, nullptr);
  EXPECT_EQ(choice.nvrtc->path(), fitting);
  ASSERT_EQ(choice.tried.size(), 1U);
  EXPECT_NE(choice.tried[0].find("newer than the driver's CUDA 13"), std::string::npos);
}

TEST(NvrtcSearch, WheelsOfTheEnvironmentAreFound) {
  const testing::ScratchFolder scratch;
  const std::filesystem::path site = scratch.path() / "env/lib/python3.11/site-packages";
  std::filesystem::create_directories(site);
  backends::BackendOptions options;
  options.virtual_env = (scratch.path() / "env").string();
  options.cuda_toolkits = {"/my/toolkit"};
  const NvrtcPlaces places = nvrtc_places(options);
  EXPECT_NE(std::find(places.site_packages.begin(), places.site_packages.end(), site.string()),
            places.site_packages.end());
  ASSERT_FALSE(places.toolkits.empty());
  EXPECT_EQ(places.toolkits.front(), "/my/toolkit");
}

class Compiling : public ::testing::Test {
 protected:
  Compiling() {
    std::string why;
    nvrtc_ = Nvrtc::open(install_nvrtc(13, scratch_.path()), why);
  }
  testing::ScratchFolder scratch_;
  std::shared_ptr<const Nvrtc> nvrtc_;
};

TEST_F(Compiling, HopperGetsItsArchitectureVariant) {
  DeviceFacts device;
  EXPECT_EQ(compile_target(*nvrtc_, device, Family::kHopper).options.back(),
            "--gpu-architecture=sm_90a");
  EXPECT_EQ(compile_target(*nvrtc_, device, Family::kPortable).options.back(),
            "--gpu-architecture=sm_90");
}

TEST_F(Compiling, AnUnknownNewerDeviceGetsPtxOfTheNewestKnownBelowIt) {
  DeviceFacts device;
  device.major = 10;
  device.minor = 3;
  const CompileTarget target = compile_target(*nvrtc_, device, Family::kPortable);
  EXPECT_TRUE(target.to_ptx);
  EXPECT_EQ(target.options.back(), "--gpu-architecture=compute_100");
  device.major = 7;
  EXPECT_EQ(cases::error_of([&] { compile_target(*nvrtc_, device, Family::kPortable); }).code(),
            ErrorCode::kUnsupported);
}

TEST_F(Compiling, RegistersAndSpillsOutliveTheCache) {
  const CompileTarget target = compile_target(*nvrtc_, {}, Family::kHopper);
  const backends::Binary binary =
      compile(*nvrtc_, target, {.kernel_name = "kernel", .text = "x", .toolchain = "fake"});
  const KernelUsage usage = usage_from_lines(binary.entry_points);
  EXPECT_EQ(usage.kernel, "kernel");
  EXPECT_EQ(usage.registers, 168);
  EXPECT_EQ(usage.stack_bytes, 16);
  EXPECT_EQ(usage.spill_store_bytes, 24);
  EXPECT_EQ(usage.spill_load_bytes, 32);
}

TEST_F(Compiling, AnErrorShowsTheCompilersLog) {
  const Error error = cases::error_of([&] {
    compile(*nvrtc_, compile_target(*nvrtc_, {}, Family::kHopper),
            {.kernel_name = "kernel", .text = "#error", .toolchain = "fake"});
  });
  EXPECT_NE(std::string(error.what()).find("emitted.cu(3): error"), std::string::npos);
  EXPECT_EQ(error.parts().where, "kernel");
}

}  // namespace
}  // namespace tilewright::cuda
