#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <span>

namespace tilewright::cli {

/// What a verb does once its options are read; returns the exit code.
using Action = std::function<int()>;

/// One verb of the program. `declare` adds its options and an example to its own parser.
struct Verb {
  const char* name;
  const char* summary;
  Action (*declare)(CLI::App& app);
};

// One file each.
Action declare_run(CLI::App& app);
Action declare_verify(CLI::App& app);
Action declare_explain(CLI::App& app);
Action declare_bench(CLI::App& app);
Action declare_mask(CLI::App& app);
Action declare_cache(CLI::App& app);
Action declare_doctor(CLI::App& app);

std::span<const Verb> verbs();

}  // namespace tilewright::cli
