// What a call on a GPU costs the host, and what its kernels cost to make: one JSON line a
// structure.
//
//   build/bench/bench_cuda_launch        (a machine with a GPU)
//
// cold_ms compiles and loads; disk_ms loads what another engine left on disk, median of 9 engines;
// launch_us is one call of a prepared attention, median of batches of 500 launches with a
// synchronise between, tensor maps made anew in each. The driver's part of that: maps_us for three
// tensor maps and for telling whether the stream is being captured, driver_launch_us for launching
// a kernel that does nothing but has as many parameters, threads and bytes of shared memory.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "backends/cuda/device/context_scope.h"
#include "backends/cuda/device/gpu.h"
#include "backends/cuda/launch/tensor_map.h"
#include "backends/cuda/nvrtc/nvrtc_search.h"
#include "tilewright/catalogue.h"
#include "tilewright/engine.h"
#include "tilewright/masks.h"
#include "tilewright/scores.h"

namespace {

using namespace tilewright;  // NOLINT: a program of its own
using Clock = std::chrono::steady_clock;

constexpr int kLaunchesPerBatch = 500;
constexpr int kBatches = 9;
constexpr int kLoads = 9;
/// FlashAttention-3's templates: 156 s on 16 cores for six kernels.
constexpr double kFlashAttention3CoreSeconds = 156.0 * 16 / 6;

double milliseconds(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Zeroed device memory for one tiny call: what is timed is the host.
class Tensors {
 public:
  Tensors(cuda::Gpu& gpu, const Problem& problem) : gpu_(gpu) {
    const cuda::ContextScope scope(gpu.driver(), gpu.context());
    const Dims shape{problem.batch, problem.query_heads, problem.q_len, problem.head_dim};
    const auto bytes = static_cast<std::size_t>(element_count(shape)) * 2;
    gpu.driver().check(gpu.driver().allocate(&base_, 4 * bytes), "cuMemAlloc", "tensors");
    gpu.driver().check(gpu.driver().set_words(base_, 0, bytes), "cuMemsetD32", "tensors");
    for (std::size_t i = 0; i < 4; ++i) {
      views_[i] =
          contiguous(reinterpret_cast<void*>(base_ + i * bytes), problem.query_dtype, shape);
      views_[i].device = problem.device;
    }
  }
  ~Tensors() {
    const cuda::ContextScope scope(gpu_.driver(), gpu_.context());
    gpu_.driver().deallocate(base_);
  }
  Tensors(const Tensors&) = delete;
  Tensors& operator=(const Tensors&) = delete;
  ForwardInputs inputs() const { return {views_[0], views_[1], views_[2]}; }
  ForwardOutputs outputs() const { return {.out = views_[3], .lse = {}, .max_scores = {}}; }

 private:
  cuda::Gpu& gpu_;
  cuda::DeviceAddress base_ = 0;
  TensorView views_[4];
};

struct Structure {
  const char* name;
  Program program;
};

std::vector<Structure> structures() {
  const auto causal = [](Index, Index, Index q, Index kv) { return q >= kv; };
  return {{"none", Program()},
          {"causal", trace(causal)},
          {"window", trace([](Index, Index, Index q, Index kv) {
             return q >= kv && q - kv < Number("window", 1024);
           })},
          {"causal, soft cap", trace(
                                   [](Score s, Index, Index, Index, Index) {
                                     const Number cap("cap", 20.0);
                                     return cap * tanh(s / cap);
                                   },
                                   causal)}};
}

double launch_us(cuda::Gpu& gpu, const Attention& attention, const Tensors& tensors) {
  std::vector<double> batches;
  const ForwardInputs inputs = tensors.inputs();
  const ForwardOutputs outputs = tensors.outputs();
  for (int batch = 0; batch < kBatches; ++batch) {
    gpu.driver().check(gpu.driver().context_synchronize(), "cuCtxSynchronize", "a batch");
    const auto start = Clock::now();
    for (int i = 0; i < kLaunchesPerBatch; ++i) attention.forward(inputs, outputs);
    batches.push_back(milliseconds(start) * 1000 / kLaunchesPerBatch);
  }
  gpu.driver().check(gpu.driver().context_synchronize(), "cuCtxSynchronize", "the last batch");
  return median(batches);
}

double maps_us(cuda::Gpu& gpu, const Tensors& tensors) {
  const ForwardInputs inputs = tensors.inputs();
  cuda::TensorMap map;
  int capturing = 0;
  const auto start = Clock::now();
  for (int i = 0; i < kLaunchesPerBatch; ++i) {
    for (const TensorView* tensor : {&inputs.query, &inputs.key, &inputs.value})
      cuda::encode_tensor_map(gpu.driver(), *tensor, 64, "a tensor", map);
    gpu.driver().stream_is_capturing(nullptr, &capturing);
  }
  return milliseconds(start) * 1000 / kLaunchesPerBatch;
}

/// A kernel that does nothing, with parameters as large as a forward kernel's.
class EmptyKernel {
 public:
  EmptyKernel(cuda::Gpu& gpu, const cuda::Nvrtc& nvrtc) : gpu_(gpu) {
    const cuda::CompileResult made = nvrtc.compile(
        {.file_name = "empty.cu",
         .text =
             "struct Block { long long words[72]; };\n"
             "extern \"C\" __global__ void __launch_bounds__(384, 1)\n"
             "empty(const __grid_constant__ Block params, const __grid_constant__ Block more) {}\n",
         .options = {"--std=c++20", "--gpu-architecture=sm_90a"},
         .to_ptx = false});
    const cuda::ContextScope scope(gpu.driver(), gpu.context());
    const cuda::Driver& driver = gpu.driver();
    driver.check(driver.module_load(&module_, made.bytes.c_str(), 0, nullptr, nullptr),
                 "cuModuleLoadDataEx", "the empty kernel");
    driver.check(driver.module_function(&function_, module_, "empty"), "cuModuleGetFunction",
                 "the empty kernel");
    driver.check(driver.function_set(function_, 8, kSharedBytes), "cuFuncSetAttribute",
                 "the empty kernel");
  }
  ~EmptyKernel() {
    const cuda::ContextScope scope(gpu_.driver(), gpu_.context());
    gpu_.driver().module_unload(module_);
  }
  EmptyKernel(const EmptyKernel&) = delete;
  EmptyKernel& operator=(const EmptyKernel&) = delete;

  /// Median over batches, as launch_us has it.
  double launch_us() const {
    alignas(64) long long words[72] = {};
    void* arguments[] = {words, words};
    std::vector<double> batches;
    for (int batch = 0; batch < kBatches; ++batch) {
      gpu_.driver().context_synchronize();
      const auto start = Clock::now();
      for (int i = 0; i < kLaunchesPerBatch; ++i)
        gpu_.driver().launch(function_, 4, 1, 1, 384, 1, 1, kSharedBytes, nullptr, arguments,
                             nullptr);
      batches.push_back(milliseconds(start) * 1000 / kLaunchesPerBatch);
    }
    gpu_.driver().context_synchronize();
    return median(batches);
  }

 private:
  static constexpr int kSharedBytes = 229376;
  cuda::Gpu& gpu_;
  cuda::ModuleHandle module_ = nullptr;
  cuda::FunctionHandle function_ = nullptr;
};

/// Gives the milliseconds of the cold compile.
double measure(cuda::Gpu& gpu, const Structure& structure, const Problem& problem,
               const std::string& cache_dir, const EmptyKernel& empty) {
  EngineOptions options;
  options.cache_dir = cache_dir;
  const Tensors tensors(gpu, problem);
  double cold_ms = 0, compile_ms = 0;
  {
    Engine engine(options);
    const auto start = Clock::now();
    engine.prepare(structure.program, problem);
    cold_ms = milliseconds(start);
    compile_ms = engine.stats().compile_ms;
  }
  std::vector<double> loads;
  for (int i = 0; i < kLoads; ++i) {
    Engine engine(options);
    const auto start = Clock::now();
    engine.prepare(structure.program, problem);
    loads.push_back(milliseconds(start));
  }
  Engine engine(options);
  const Attention attention = engine.prepare(structure.program, problem);
  const std::string kernel = attention.forward(tensors.inputs(), tensors.outputs()).kernel;
  const cuda::ContextScope scope(gpu.driver(), gpu.context());
  std::printf(
      "{\"kind\": \"cuda_launch\", \"structure\": \"%s\", \"dim\": %lld, \"kernel\": \"%s\", "
      "\"cold_ms\": %.1f, \"compile_ms\": %.1f, \"disk_ms\": %.2f, \"launch_us\": %.2f, "
      "\"maps_us\": %.2f, \"driver_launch_us\": %.2f}\n",
      structure.name, static_cast<long long>(problem.head_dim), kernel.c_str(), cold_ms, compile_ms,
      median(std::move(loads)), launch_us(gpu, attention, tensors), maps_us(gpu, tensors),
      empty.launch_us());
  std::fflush(stdout);
  return compile_ms;
}

Problem problem_of(std::int64_t dim) {
  Problem problem;
  problem.query_heads = problem.kv_heads = 2;
  problem.q_len = problem.kv_len = 128;
  problem.head_dim = problem.value_dim = dim;
  problem.query_dtype = problem.key_dtype = problem.value_dtype = problem.out_dtype = DType::kBF16;
  problem.device = {DeviceKind::kCuda, 0};
  return problem;
}

}  // namespace

int main() {
  ::setenv("CUDA_CACHE_DISABLE", "1", 1);  // NVRTC keeps what it compiled in the driver's cache
  std::string why;
  const auto driver = cuda::Driver::open("", why);
  if (!driver) {
    std::printf("{\"kind\": \"cuda_launch\", \"skipped\": \"%s\"}\n", why.c_str());
    return 0;
  }
  cuda::Gpu gpu(driver, 0);
  const std::filesystem::path cache =
      std::filesystem::temp_directory_path() / ("tilewright_launch_" + std::to_string(::getpid()));
  // Opening driver and compiler, once a process, is not a kernel's cost: this engine keeps them.
  EngineOptions options;
  options.cache_dir = cache.string();
  Engine opener(options);
  opener.prepare(Program(), problem_of(8));
  const EmptyKernel empty(gpu, *cuda::find_nvrtc(cuda::nvrtc_places({}), driver->major()).nvrtc);
  std::vector<double> compiles;
  for (const std::int64_t dim : {64, 128, 256}) {
    const Problem problem = problem_of(dim);
    for (const Structure& structure : structures())
      compiles.push_back(measure(gpu, structure, problem, cache.string(), empty));
  }
  std::printf(
      "{\"kind\": \"compile_comparison\", \"kernels\": %zu, \"median_s_a_kernel\": %.2f, "
      "\"flash_attention_3_core_s_a_kernel\": %.0f}\n",
      compiles.size(), median(compiles) / 1000, kFlashAttention3CoreSeconds);
  std::filesystem::remove_all(cache);
  return 0;
}
