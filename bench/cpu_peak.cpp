// Rates of the CPU micro-kernels on one core, beside the register-only ceiling: timings of the two
// alternate, and the share of the peak is the median of their ratios.
//
//   bench_cpu_peak [--json]     a table, or one JSON object a line
//
// Tiles are reused, so K, V and P stay in the second-level cache as they do between the two
// products of attention. "both" alternates score_tile and output_tile. Pack and direct rates are
// bytes of K or V read.

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "backends/cpu/microkernels.h"
#include "register_peak.h"

namespace {

using namespace tilewright;
using cpu::MicroKernel;

struct Buffer {
  explicit Buffer(std::int64_t bytes)
      : data(static_cast<unsigned char*>(
            std::aligned_alloc(cpu::kPanelAlignment, (bytes + 127) / 64 * 64))) {
    std::memset(data, 0, static_cast<std::size_t>(bytes));
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { std::free(data); }
  unsigned char* data;
};

struct TileSize {
  std::int64_t rows;
  std::int64_t kv;
  std::int64_t head_dim;
};

// Operands of one tile: zeros multiply as fast as anything on the CPUs served here.
struct Tile {
  Tile(const MicroKernel& row, TileSize tile_size)
      : kernel(row),
        size(tile_size),
        source(row.compute),
        key_bytes(size.kv * size.head_dim * size_bytes(source)),
        stored(key_bytes),
        query(cpu::packed_query_bytes(row, size.rows, size.head_dim)),
        key(cpu::packed_key_bytes(row, size.kv, size.head_dim)),
        value(cpu::packed_value_bytes(row, size.kv, size.head_dim)),
        score(size.rows * size.kv * size_bytes(row.accumulator)),
        probability(size.rows * size.kv * size_bytes(row.accumulator)),
        output(size.rows * cpu::padded_columns(row, size.head_dim) * size_bytes(row.accumulator)),
        factor(size.rows * size_bytes(row.accumulator)) {}

  std::int64_t operations() const { return 2 * size.rows * size.kv * size.head_dim; }

  cpu::MatrixView view() const {
    return {stored.data, source, size.kv, size.head_dim, size.head_dim, 1};
  }
  void score_tile() const {
    kernel.score_tile(
        {query.data, key.data, score.data, size.kv, size.rows, size.kv, size.head_dim});
  }
  void output_tile() const {
    kernel.output_tile({.probability = probability.data,
                        .probability_stride = size.kv,
                        .value = value.data,
                        .value_rows = size.kv,
                        .kv_begin = 0,
                        .output = output.data,
                        .output_stride = cpu::padded_columns(kernel, size.head_dim),
                        .row_factor = factor.data,
                        .rows = size.rows,
                        .kv = size.kv,
                        .columns = size.head_dim});
  }
  void score_direct() const {
    cpu::MatrixView rows = view();
    rows.rows = size.rows;
    kernel.score_direct({rows, view(), score.data, size.kv});
  }
  void output_direct() const {
    kernel.output_direct({probability.data, size.kv, size.rows, view(), output.data,
                          cpu::padded_columns(kernel, size.head_dim), factor.data});
  }

  const MicroKernel& kernel;
  TileSize size;
  DType source;
  std::int64_t key_bytes;
  Buffer stored, query, key, value, score, probability, output, factor;
};

struct Result {
  const MicroKernel& kernel;
  const char* what;
  TileSize size;
  bool is_bytes;
  bench::Measurement measured;
};

void print_json(const Result& r) {
  const bench::Measurement& m = r.measured;
  std::printf(R"({"kernel":"%s","what":"%s","rows":%ld,"kv":%ld,"head_dim":%ld,"unit":"%s",)"
              R"("median":%.2f,"least":%.2f,"most":%.2f,"peak":%.2f,"share_of_peak":%.3f})"
              "\n",
              r.kernel.name, r.what, static_cast<long>(r.size.rows), static_cast<long>(r.size.kv),
              static_cast<long>(r.size.head_dim), r.is_bytes ? "GB/s" : "GFLOP/s", m.rate.median,
              m.rate.least, m.rate.most, m.ceiling.median, r.is_bytes ? 0 : m.share.median);
}

void print_text(const Result& r) {
  const bench::Measurement& m = r.measured;
  std::printf("%-16s %-13s rows %3ld kv %3ld hd %3ld %8.1f %-7s [%.1f, %.1f]", r.kernel.name,
              r.what, static_cast<long>(r.size.rows), static_cast<long>(r.size.kv),
              static_cast<long>(r.size.head_dim), m.rate.median, r.is_bytes ? "GB/s" : "GFLOP/s",
              m.rate.least, m.rate.most);
  if (!r.is_bytes) {
    std::printf("  %5.1f %% of %.1f [%.1f %%, %.1f %%]", 100 * m.share.median, m.ceiling.median,
                100 * m.share.least, 100 * m.share.most);
  }
  std::printf("\n");
}

class Runner {
 public:
  Runner(const MicroKernel& kernel, bool json) : kernel_(kernel), json_(json) {}

  void run() const {
    for (const std::int64_t head_dim : {64, 128}) {
      for (const std::int64_t kv : {128, 256}) run_tile({64, kv, head_dim});
    }
    run_memory({1, 256, 128});
  }

 private:
  void run_tile(TileSize size) const {
    const Tile tile(kernel_, size);
    const std::int64_t work = tile.operations();
    report({kernel_, "score", size, false, beside(work, [&] { tile.score_tile(); })});
    report({kernel_, "output", size, false, beside(work, [&] { tile.output_tile(); })});
    const auto both = [&] {
      tile.score_tile();
      tile.output_tile();
    };
    report({kernel_, "both", size, false, beside(2 * work, both)});
  }

  void run_memory(TileSize size) const {
    const Tile tile(kernel_, size);
    const auto read = [&](const char* what, const auto& work) {
      report({kernel_, what, size, true, beside(tile.key_bytes, work)});
    };
    read("pack key", [&] { kernel_.pack_key(tile.view(), tile.key.data); });
    read("pack value", [&] { kernel_.pack_value(tile.view(), tile.value.data); });
    read("score direct", [&] { tile.score_direct(); });
    read("output direct", [&] { tile.output_direct(); });
  }

  /// work() does `amount` operations or bytes.
  template <class Work>
  bench::Measurement beside(std::int64_t amount, const Work& work) const {
    float sink = 0.5F;
    return bench::measure_beside(
        [&](std::int64_t loops) { return bench::peak_loop(kernel_)(loops, &sink); },
        [&](std::int64_t loops) {
          for (std::int64_t i = 0; i < loops; ++i) work();
          return loops * amount;
        });
  }

  void report(const Result& result) const {
    if (json_) print_json(result);
    if (!json_) print_text(result);
  }

  const MicroKernel& kernel_;
  bool json_;
};

}  // namespace

int main(int argc, char** argv) {
  const bool json = argc > 1 && std::strcmp(argv[1], "--json") == 0;
  for (const MicroKernel* kernel : cpu::micro_kernel_rows()) {
    const auto missing = cpu::missing_feature(kernel->isa, cpu::cpu_features());
    if (missing) {
      std::fprintf(stderr, "%s skipped: %s\n", kernel->name, missing->c_str());
      continue;
    }
    Runner(*kernel, json).run();
  }
  return 0;
}
