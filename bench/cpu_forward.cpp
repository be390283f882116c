// Forward calls on the CPU as shares of the register-only ceiling, and their ratios to one another.
//
//   bench_cpu_forward [--json] [--threads N] [--rounds N] [--tokens N] [--heads N] [--dtype
//   f32|bf16]
//                     [--dim N] [--case NAME]
//
// A round times every case once, with the ceiling between; all ratios are medians over rounds. One
// thread is timed by its own CPU time, so a neighbour that takes the core away does not count; more
// threads by the wall clock. "per pair" is time per live pair beside causal (beside full for
// causal).

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "backends/cpu/microkernels.h"
#include "backends/cpu/thread_limit.h"
#include "forward_cases.h"
#include "register_peak.h"

namespace {

using namespace tilewright;

struct Options {
  bool json = false;
  int threads = 0;
  int rounds = 9;
  std::int64_t tokens = 4096;
  std::int64_t heads = 4;
  std::vector<DType> dtypes = {DType::kF32, DType::kBF16};
  std::vector<std::int64_t> head_dims = {64, 128};
  std::string only;  ///< case to time beside full and causal; empty: all
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--json") options.json = true;
    if (i + 1 >= argc) continue;
    const char* const value = argv[i + 1];
    if (flag == "--threads") options.threads = std::atoi(value);
    if (flag == "--rounds") options.rounds = std::atoi(value);
    if (flag == "--tokens") options.tokens = std::atoll(value);
    if (flag == "--heads") options.heads = std::atoll(value);
    if (flag == "--case") options.only = value;
    if (flag == "--dim") options.head_dims = {std::atoll(value)};
    if (flag == "--dtype")
      options.dtypes = {std::strcmp(value, "f32") == 0 ? DType::kF32 : DType::kBF16};
  }
  if (options.threads == 0) options.threads = cpu::thread_limit();
  return options;
}

double wall_seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

EngineOptions engine_options(const Options& options) {
  EngineOptions made;
  made.threads = options.threads;
  return made;
}

class Table {
 public:
  Table(const Options& options, DType dtype, std::int64_t head_dim)
      : options_(options),
        head_dim_(head_dim),
        dtype_(dtype),
        tensors_(dtype, options.heads, options.tokens, head_dim),
        engine_(engine_options(options)) {
    const char* const isa = std::getenv("TILEWRIGHT_CPU_ISA");
    const auto forced = isa != nullptr ? cpu::parse_isa(isa) : std::nullopt;
    peak_ = bench::peak_loop(cpu::choose_micro_kernel(dtype, forced, cpu::cpu_features()));
    for (const bench::ForwardCase& each : bench::forward_cases()) {
      if (!options.only.empty() && cases_.size() >= 2 && options.only != each.name) continue;
      cases_.push_back(each);
      const Program program = tensors_.program(each);
      pairs_.push_back(static_cast<double>(tensors_.live_pairs(program)));
      calls_.push_back(
          engine_.prepare(program, problem_from(tensors_.inputs(), tensors_.outputs())));
    }
  }

  void run() {
    seconds_.assign(calls_.size(), {});
    shares_ = ratios_ = seconds_;
    for (const Attention& call : calls_) kernel_ = run_once(call);
    const auto peak_loop = [this](std::int64_t count) { return peak_once(count); };
    const std::int64_t loops = bench::loops_for(peak_loop, 0.01);
    for (int round = 0; round < options_.rounds; ++round) one_round(loops);
    for (std::size_t i = 0; i < calls_.size(); ++i) print(i);
  }

 private:
  std::string run_once(const Attention& call) {
    return call.forward(tensors_.inputs(), tensors_.outputs()).kernel;
  }

  double clock() const { return options_.threads == 1 ? bench::thread_seconds() : wall_seconds(); }

  std::int64_t peak_once(std::int64_t loops) const {
    float sink = 0.5F;
    return peak_(loops, &sink);
  }

  /// Of all threads at once, each by its own clock.
  double ceiling(std::int64_t loops) const {
    std::atomic<double> sum{0};
    const auto work = [&] {
      sum += bench::rate_once([this](std::int64_t count) { return peak_once(count); }, loops);
    };
    std::vector<std::jthread> others;
    for (int i = 1; i < options_.threads; ++i) others.emplace_back(work);
    work();
    others.clear();
    return sum;
  }

  double operations(std::size_t i) const { return 4 * pairs_[i] * static_cast<double>(head_dim_); }

  void one_round(std::int64_t loops) {
    std::vector<double> taken;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      ceilings_.push_back(ceiling(loops));
      const double begin = clock();
      run_once(calls_[i]);
      taken.push_back(clock() - begin);
      seconds_[i].push_back(taken[i]);
      shares_[i].push_back(operations(i) / taken[i] * 1e-9 / ceilings_.back());
    }
    for (std::size_t i = 0; i < taken.size(); ++i) {
      const std::size_t beside = i < 2 ? 0 : 1;
      ratios_[i].push_back(taken[i] / pairs_[i] / (taken[beside] / pairs_[beside]));
    }
  }

  void print(std::size_t i) const {
    const bench::Spread time = bench::spread_of(seconds_[i]);
    const char* const name = cases_[i].name;
    const char* const dtype = dtype_ == DType::kF32 ? "f32" : "bf16";
    const double rate = operations(i) / time.median * 1e-9;
    const double share = bench::spread_of(shares_[i]).median;
    const double ratio = bench::spread_of(ratios_[i]).median;
    const double peak = bench::spread_of(ceilings_).median;
    if (options_.json)
      std::printf(R"({"case":"%s","dtype":"%s","head_dim":%ld,"kernel":"%s","threads":%d,)"
                  R"("median_ms":%.3f,"least_ms":%.3f,"most_ms":%.3f,"gflops":%.1f,)"
                  R"("peak_gflops":%.1f,"share_of_peak":%.3f,"per_pair":%.3f})"
                  "\n",
                  name, dtype, static_cast<long>(head_dim_), kernel_.c_str(), options_.threads,
                  1e3 * time.median, 1e3 * time.least, 1e3 * time.most, rate, peak, share, ratio);
    else
      std::printf(
          "%-4s hd%-4ld %-15s %9.2f ms [%.2f, %.2f] %8.1f GFLOP/s %5.1f %% of %.0f  x%.3f\n", dtype,
          static_cast<long>(head_dim_), name, 1e3 * time.median, 1e3 * time.least, 1e3 * time.most,
          rate, 100 * share, peak, ratio);
    std::fflush(stdout);
  }

  const Options& options_;
  std::int64_t head_dim_;
  DType dtype_;
  bench::ForwardTensors tensors_;
  Engine engine_;
  bench::PeakLoop peak_ = nullptr;
  std::vector<bench::ForwardCase> cases_;
  std::vector<Attention> calls_;
  std::vector<double> pairs_;
  std::vector<std::vector<double>> seconds_, shares_, ratios_;
  std::vector<double> ceilings_;
  std::string kernel_;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  for (const DType dtype : options.dtypes)
    for (const std::int64_t head_dim : options.head_dims) Table(options, dtype, head_dim).run();
  return 0;
}
