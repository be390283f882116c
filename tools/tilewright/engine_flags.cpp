#include "engine_flags.h"

namespace tilewright::cli {

void add_engine_options(OptionList& list, EngineOptions& options) {
  const std::string group = "Engine";
  list.add({.name = "--backend",
            .target = &options.backend,
            .meaning = "reference, cpu or cuda; by default the fastest",
            .group = group});
  list.add({.name = "--isa",
            .target = &options.cpu_isa,
            .meaning = "force amx, avx512bf16, avx512, avx2 or portable",
            .group = group});
  list.add({.name = "--threads",
            .target = &options.threads,
            .meaning = "threads; by default what this process may use",
            .group = group,
            .range = NumberRange{0, 4096}});
  list.add({.name = "--cache-dir",
            .target = &options.cache_dir,
            .meaning = "folder of compiled kernels; none: memory only",
            .group = group});
  list.add({.name = "--require-fast",
            .target = &options.require_fast,
            .meaning = "refuse what only a slower path serves",
            .group = group});
}

}  // namespace tilewright::cli
