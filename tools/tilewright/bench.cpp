#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "analyse/facts.h"
#include "attention_inputs.h"
#include "backends/cpu/thread_limit.h"
#include "base/formatted.h"
#include "ceiling.h"
#include "console.h"
#include "engine_flags.h"
#include "exit_code.h"
#include "io/json.h"
#include "mod_options.h"
#include "progress.h"
#include "tilewright/error.h"
#include "tilewright/mask_map.h"
#include "timing.h"
#include "verb.h"

namespace tilewright::cli {

namespace {

struct BenchCommand {
  ModOptions mods;
  InputOptions inputs;
  EngineOptions engine;
  std::int64_t repeat = 9;
  bool json = false;
};

/// One program of the table.
struct BenchCase {
  std::string name;
  ModOptions mods;
};

struct BenchRow {
  std::string name;
  std::string kernel;
  double live_share = 1;  ///< live pairs over all pairs
  Timings timings;
  double gflops = 0;   ///< at the median: 2 * live pairs * (E + Ev)
  double ceiling = 0;  ///< GFLOP/s, median, taken between the calls
  double share = 0;    ///< median of the ratios, call by call
  double compile_ms = 0;
};

std::vector<BenchCase> cases_of(const BenchCommand& command) {
  const ModOptions& mods = command.mods;
  if (!mods.mask.empty() || !mods.score.empty() || !mods.program_file.empty()) {
    std::string name = mods.program_file;
    for (const std::string& part : {mods.mask, mods.score}) {
      name += (name.empty() || part.empty() ? "" : " ") + part;
    }
    return {{name, mods}};
  }
  const auto with = [](std::string mask, std::string score) {
    ModOptions made;
    made.mask = std::move(mask);
    made.score = std::move(score);
    return made;
  };
  return {{"full", with("", "")},
          {"causal", with("causal", "")},
          {"window of 512", with("window(W=512)", "")},
          {"causal, ALiBi", with("causal", "alibi")},
          {"causal, soft cap", with("causal", "softcap")},
          {"documents", with("documents", "")}};
}

/// Live pairs of the call over all its pairs.
double live_share(const Program& program, const Problem& problem) {
  const double pairs = static_cast<double>(problem.q_len) * static_cast<double>(problem.kv_len);
  if (!program.has_mask_mod() || pairs == 0) return 1;
  const auto facts = analyse::structure_facts(program.structure());
  const std::int64_t batch = facts.mask_depends_on_b ? problem.batch : 1;
  const std::int64_t heads = facts.mask_depends_on_h ? problem.query_heads : 1;
  const MaskMap map = MaskMap::build(program, {.batch = batch,
                                               .heads = heads,
                                               .q_len = problem.q_len,
                                               .kv_len = problem.kv_len,
                                               .q_base = 0,
                                               .kv_base = 0,
                                               .q_block = 128});
  return static_cast<double>(map.live_pairs()) /
         (pairs * static_cast<double>(batch) * static_cast<double>(heads));
}

double operations(const Problem& problem, double share) {
  const double pairs = static_cast<double>(problem.batch * problem.query_heads) *
                       static_cast<double>(problem.q_len) * static_cast<double>(problem.kv_len);
  return 2 * share * pairs * static_cast<double>(problem.head_dim + problem.value_dim);
}

/// Alternates calls and ceiling: clocks and neighbours change within a run.
BenchRow measure(const BenchCase& bench_case, const BenchCommand& command, OpenFiles& files,
                 const LoadedInputs& loaded, Progress& progress) {
  const TensorView& query = loaded.views.query;
  const OwnedTensor out = make_tensor(
      query.dtype, {query.shape[0], query.shape[1], query.shape[2], loaded.views.value.shape[3]});
  const ForwardOutputs outputs{.out = out.view, .lse = {}, .max_scores = {}};
  const Problem problem = problem_from(loaded.views, outputs);
  const LoadedProgram mods = load_program(bench_case.mods, problem, files, loaded.file);
  Engine engine(command.engine);
  const Attention attention = engine.prepare(mods.program, problem);
  const int threads = command.engine.threads > 0 ? command.engine.threads : cpu::thread_limit();
  const Ceiling ceiling(query.dtype, command.engine.cpu_isa, threads);

  BenchRow row;
  row.name = bench_case.name;
  row.live_share = live_share(mods.program, problem);
  const double work = operations(problem, row.live_share);
  std::vector<double> samples, ceilings, shares;
  row.kernel = attention.forward(loaded.views, outputs).kernel;
  for (std::int64_t i = 0; i < command.repeat; ++i) {
    constexpr double kCeilingSeconds = 0.02;
    ceilings.push_back(ceiling.measure(kCeilingSeconds));
    samples.push_back(time_once_ms([&] { attention.forward(loaded.views, outputs); }));
    shares.push_back(work / samples.back() * 1e-6 / ceilings.back());
    progress.step();
  }
  row.timings = timings_of(std::move(samples));
  row.gflops = row.timings.median() == 0 ? 0 : work / row.timings.median() * 1e-6;
  row.ceiling = timings_of(std::move(ceilings)).median();
  row.share = timings_of(std::move(shares)).median();
  row.compile_ms = engine.stats().compile_ms;
  return row;
}

io::Json to_json(const BenchRow& row) {
  return {{"name", row.name},
          {"kernel", row.kernel},
          {"live_share", row.live_share},
          {"runs", row.timings.sorted_ms.size()},
          {"ms_median", row.timings.median()},
          {"ms_least", row.timings.least()},
          {"ms_most", row.timings.most()},
          {"gflops", row.gflops},
          {"ceiling_gflops", row.ceiling},
          {"share_of_ceiling", row.share},
          {"compile_ms", row.compile_ms}};
}

/// Time of a live pair beside that of the first row.
double pair_ratio(const BenchRow& row, const BenchRow& first) {
  if (first.timings.median() == 0 || row.live_share == 0) return 0;
  return row.timings.median() / row.live_share / (first.timings.median() / first.live_share);
}

void print_table(const std::vector<BenchRow>& rows, const InputOptions& inputs) {
  print(formatted("{} batch, {} heads, {} x {} tokens, E {}; ceiling {:.0f} GFLOP/s\n",
                  inputs.batch, inputs.heads, inputs.q_len,
                  inputs.kv_len == 0 ? inputs.q_len : inputs.kv_len, inputs.head_dim,
                  rows.front().ceiling));
  print(formatted("{:<18} {:>6} {:>10} {:>21} {:>9} {:>8} {:>9}  {}\n", "program", "live", "ms",
                  "range", "GFLOP/s", "ceiling", "per pair", "kernel"));
  for (const BenchRow& row : rows) {
    print(formatted("{:<18} {:>5.1f}% {:>10.3f} {:>21} {:>9.1f} {:>7.1f}% {:>8.2f}x  {}\n",
                    row.name.substr(0, 18), 100 * row.live_share, row.timings.median(),
                    formatted("{:.3f}..{:.3f}", row.timings.least(), row.timings.most()),
                    row.gflops, 100 * row.share, pair_ratio(row, rows.front()), row.kernel));
  }
}

int bench(const BenchCommand& command) {
  OpenFiles files;
  const LoadedInputs loaded = load_inputs(command.inputs, files);
  const std::vector<BenchCase> cases = cases_of(command);
  std::vector<BenchRow> rows;
  {
    Progress progress("bench", static_cast<std::int64_t>(cases.size()) * command.repeat);
    for (const BenchCase& bench_case : cases) {
      rows.push_back(measure(bench_case, command, files, loaded, progress));
    }
  }
  if (!command.json) {
    print_table(rows, command.inputs);
    return kSuccess;
  }
  io::Json json = io::Json::array();
  for (const BenchRow& row : rows) json.push_back(to_json(row));
  print_json({{"rows", json}});
  return kSuccess;
}

}  // namespace

Action declare_bench(OptionList& list) {
  auto command = std::make_shared<BenchCommand>();
  command->inputs.random = true;
  command->inputs.q_len = 4096;
  command->inputs.heads = 4;
  add_mod_options(list, command->mods);
  add_input_options(list, command->inputs, false);
  add_engine_options(list, command->engine);
  list.add({.name = "--repeat",
            .target = &command->repeat,
            .meaning = "timings of each program",
            .range = NumberRange{1, 100000}});
  list.add({.name = "--json", .target = &command->json, .meaning = "print as JSON"});
  list.end_with(
      "Without a program it measures a table of usual ones. The ceiling is a register-only loop "
      "of\n"
      "the widest instruction, taken between the calls; per pair is time per live pair, beside "
      "the\n"
      "first row.\n"
      "Examples:\n"
      "  tilewright bench --q 4096 --dim 128\n"
      "  tilewright bench --mask \"window(W=512)\" --dtype bf16 --json");
  return [command] { return bench(*command); };
}

}  // namespace tilewright::cli
