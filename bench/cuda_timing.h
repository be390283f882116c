#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <random>
#include <vector>

#include "backends/cuda/device/context_scope.h"
#include "backends/cuda/device/gpu.h"
#include "tilewright/tensor.h"

// What the benchmarks of a GPU share: memory there, and times of calls that take turns.
namespace tilewright::bench {

/// Device memory of a program's life.
class Memory {
 public:
  explicit Memory(cuda::Gpu& gpu) : gpu_(gpu) {}
  ~Memory() {
    const cuda::ContextScope scope(gpu_.driver(), gpu_.context());
    for (const cuda::DeviceAddress base : all_) gpu_.driver().deallocate(base);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  TensorView tensor(DType dtype, const Dims& shape) {
    const cuda::ContextScope scope(gpu_.driver(), gpu_.context());
    const std::size_t bytes = static_cast<std::size_t>(element_count(shape)) * size_bytes(dtype);
    cuda::DeviceAddress base = 0;
    gpu_.driver().check(gpu_.driver().allocate(&base, bytes), "cuMemAlloc", "a tensor");
    all_.push_back(base);
    TensorView view = contiguous(reinterpret_cast<void*>(base), dtype, shape);
    view.device = {DeviceKind::kCuda, 0};
    return view;
  }
  template <class T>
  TensorView copy(const std::vector<T>& values, DType dtype, const Dims& shape) {
    const TensorView view = tensor(dtype, shape);
    const cuda::ContextScope scope(gpu_.driver(), gpu_.context());
    gpu_.driver().check(
        gpu_.driver().copy_to_device(reinterpret_cast<cuda::DeviceAddress>(view.data),
                                     values.data(), values.size() * sizeof(T)),
        "cuMemcpyHtoD", "a tensor");
    return view;
  }
  /// Normal values, a block of them over and over: power depends on what is multiplied.
  TensorView random(const Dims& shape, std::uint32_t seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal;
    std::vector<std::uint16_t> values(static_cast<std::size_t>(element_count(shape)));
    const std::size_t block = std::min<std::size_t>(values.size(), 1 << 20);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i >= block) {
        values[i] = values[i - block];
        continue;
      }
      const float value = normal(engine);
      std::uint32_t bits = 0;
      static_assert(sizeof bits == sizeof value);
      std::copy_n(reinterpret_cast<const char*>(&value), sizeof bits,
                  reinterpret_cast<char*>(&bits));
      values[i] = static_cast<std::uint16_t>(bits >> 16);
    }
    return copy(values, DType::kBF16, shape);
  }

 private:
  cuda::Gpu& gpu_;
  std::vector<cuda::DeviceAddress> all_;
};

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Milliseconds a call of `calls` of them.
inline double time_of(cuda::Gpu& gpu, const std::function<void()>& way, int calls) {
  const auto wait = [&] {
    const cuda::ContextScope scope(gpu.driver(), gpu.context());
    gpu.driver().check(gpu.driver().context_synchronize(), "cuCtxSynchronize", "a repeat");
  };
  wait();
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  for (int i = 0; i < calls; ++i) way();
  wait();
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count() / calls;
}

/// Median of each way's time, a repeat of all after the other; a repeat is as many calls as take
/// some 20 ms, so that neither the wait for the end nor an idle clock counts.
inline std::vector<double> timed(cuda::Gpu& gpu, const std::vector<std::function<void()>>& ways) {
  constexpr double kRepeatMs = 20;
  constexpr int kRepeats = 7;
  std::vector<std::vector<double>> times(ways.size());
  std::vector<int> calls;
  for (const auto& way : ways) {
    time_of(gpu, way, 1);
    calls.push_back(std::clamp(static_cast<int>(kRepeatMs / time_of(gpu, way, 1)), 1, 100));
  }
  for (int repeat = 0; repeat < kRepeats; ++repeat)
    for (std::size_t i = 0; i < ways.size(); ++i)
      times[i].push_back(time_of(gpu, ways[i], calls[i]));
  std::vector<double> medians;
  for (std::vector<double>& all : times) medians.push_back(median(std::move(all)));
  return medians;
}

}  // namespace tilewright::bench
