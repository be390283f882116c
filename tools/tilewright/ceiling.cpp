#include "ceiling.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "backends/cpu/microkernels.h"
#include "bench/register_peak.h"

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
  const double begin = bench::thread_seconds();
  body(loops);
  const double seconds = bench::thread_seconds() - begin;
  loops_per_second_ =
      static_cast<std::int64_t>(static_cast<double>(loops) / std::max(seconds, 1e-6));
}

double Ceiling::measure(double seconds) const {
  const double wanted = static_cast<double>(loops_per_second_) * seconds;
  const std::int64_t loops = std::max<std::int64_t>(1, static_cast<std::int64_t>(wanted));
  std::atomic<double> sum{0};
  // By each thread's own clock: a neighbour that takes the core away does not lower the ceiling.
  const auto work = [&] {
    sum += bench::rate_once(
        [this](std::int64_t count) {
          float sink = 0.5F;
          return loop_(count, &sink);
        },
        loops);
  };
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < threads_; ++i) others.emplace_back(work);
    work();
  }
  return sum;
}

}  // namespace tilewright::cli
