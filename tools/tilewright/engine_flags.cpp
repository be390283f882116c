#include "engine_flags.h"

namespace tilewright::cli {

void add_engine_options(CLI::App& app, EngineOptions& options) {
  const std::string group = "Engine";
  app.add_option("--backend", options.backend, "reference, cpu or cuda; by default the fastest")
      ->group(group);
  app.add_option("--isa", options.cpu_isa, "force amx, avx512bf16, avx512, avx2 or portable")
      ->group(group);
  app.add_option("--threads", options.threads, "threads; by default what this process may use")
      ->check(CLI::Range(0, 4096))
      ->group(group);
  app.add_option("--cache-dir", options.cache_dir, "folder of compiled kernels; none: memory only")
      ->group(group);
  app.add_flag("--require-fast", options.require_fast, "refuse what only a slower path serves")
      ->group(group);
}

}  // namespace tilewright::cli
