#pragma once

#include <functional>
#include <span>

#include "options.h"

namespace tilewright::cli {

/// What a verb does once its options are read; returns the exit code.
using Action = std::function<int()>;

/// One verb of the program. `declare` adds its options, and an example for --help.
struct Verb {
  const char* name;
  const char* summary;
  Action (*declare)(OptionList& list);
};

// One file each.
Action declare_run(OptionList& list);
Action declare_verify(OptionList& list);
Action declare_explain(OptionList& list);
Action declare_bench(OptionList& list);
Action declare_mask(OptionList& list);
Action declare_cache(OptionList& list);
Action declare_doctor(OptionList& list);

std::span<const Verb> verbs();

}  // namespace tilewright::cli
