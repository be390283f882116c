#include "ceiling.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "backends/cpu/microkernels.h"
#include "bench/register_peak.h"
#include "timing.h"

namespace tilewright::cli {

namespace {

constexpr double kProbeSeconds = 0.01;

}  // namespace

Ceiling::Ceiling(DType dtype, const std::string& isa, int threads) : threads_(threads) {
  const std::optional<cpu::Isa> forced = isa.empty() ? std::nullopt : cpu::parse_isa(isa);
  const cpu::MicroKernel& kernel = cpu::choose_micro_kernel(dtype, forced, cpu::cpu_features());
  loop_ = bench::peak_loop(kernel);
  instruction_ = cpu::isa_name(kernel.isa);
  const auto body = [this](std::int64_t loops) {
    float sink = 0.5F;
    return loop_(loops, &sink);
  };
  const std::int64_t loops = bench::loops_for(body, kProbeSeconds);
  const double seconds = time_once_ms([&] { body(loops); }) / 1000;
  loops_per_second_ =
      static_cast<std::int64_t>(static_cast<double>(loops) / std::max(seconds, 1e-6));
}

double Ceiling::measure(double seconds) const {
  const auto loops = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(static_cast<double>(loops_per_second_) * seconds));
  std::atomic<std::int64_t> operations{0};
  const auto work = [&] {
    float sink = 0.5F;
    operations += loop_(loops, &sink);
  };
  const double elapsed_ms = time_once_ms([&] {
    std::vector<std::jthread> others;
    for (int i = 1; i < threads_; ++i) others.emplace_back(work);
    work();
  });
  return static_cast<double>(operations) / elapsed_ms * 1e-6;
}

}  // namespace tilewright::cli
