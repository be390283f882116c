#include "support/targets.h"

#include <map>
#include <memory>
#include <mutex>

#include "base/check.h"
#include "support/forward.h"
#include "tilewright/error.h"

namespace tilewright::cases {

namespace {

/// An engine per target, kept: JIT and caches are shared by all cases of a run.
struct TargetEngine {
  std::unique_ptr<Engine> engine;
  std::string unavailable;
};

/// A call that needs nothing but the target: what it throws is why the target is unavailable.
void try_target(Engine& engine) {
  const Operands operands = filled_operands(square(1, 1, 2, 2));
  const Results results = results_for(operands.inputs());
  engine.attention(Program(), operands.inputs(), results.outputs());
}

TargetEngine make_target(const Target& target) {
  TargetEngine made;
  try {
    EngineOptions options;
    options.backend = target.backend;
    options.cpu_isa = target.cpu_isa;
    options.cache_dir = "none";
    made.engine = std::make_unique<Engine>(options);
    try_target(*made.engine);
  } catch (const Error& error) {
    // Forcing what this CPU lacks is refused; anything else is a bug and not a missing target.
    if (error.parts().where.find("cpu_isa") == std::string::npos) throw;
    made.engine.reset();
    made.unavailable = error.what();
  }
  return made;
}

TargetEngine& made_for(const Target& target) {
  static std::mutex mutex;
  static std::map<std::string, TargetEngine> engines;
  const std::lock_guard lock(mutex);
  const auto found = engines.find(target.name());
  if (found != engines.end()) return found->second;
  return engines.emplace(target.name(), make_target(target)).first->second;
}

}  // namespace

const std::vector<Target>& all_targets() {
  static const std::vector<Target> targets = {
      {"reference", ""}, {"cpu", "portable"},   {"cpu", "avx2"},
      {"cpu", "avx512"}, {"cpu", "avx512bf16"}, {"cpu", "amx"},
  };
  return targets;
}

std::optional<std::string> unavailable_because(const Target& target) {
  const TargetEngine& made = made_for(target);
  if (made.engine) return std::nullopt;
  return made.unavailable;
}

const std::vector<Target>& available_targets() {
  static const std::vector<Target> available = [] {
    std::vector<Target> targets;
    for (const Target& target : all_targets())
      if (!unavailable_because(target)) targets.push_back(target);
    return targets;
  }();
  return available;
}

Engine& engine_on(const Target& target) {
  TargetEngine& made = made_for(target);
  TILEWRIGHT_CHECK(made.engine != nullptr);
  return *made.engine;
}

}  // namespace tilewright::cases
