#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tilewright/engine.h"

namespace tilewright::cases {

/// Where cases run. An empty isa lets the engine choose.
struct Target {
  std::string backend;
  std::string cpu_isa;
  std::string name() const { return cpu_isa.empty() ? backend : backend + ":" + cpu_isa; }
};

/// The interpreter and every CPU micro-kernel, whether this machine has it or not.
const std::vector<Target>& all_targets();

/// Those of them that this machine has.
const std::vector<Target>& available_targets();

/// Why `target` cannot run here; absent where it can.
std::optional<std::string> unavailable_because(const Target& target);

/// The engine of an available target: one a process, so that all cases share what it compiles.
Engine& engine_on(const Target& target);

}  // namespace tilewright::cases
