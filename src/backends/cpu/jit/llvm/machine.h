#pragma once

#include <memory>
#include <string>

#include "kernels/cpu/micro_kernel.h"

namespace llvm {
class TargetMachine;
}

namespace tilewright::cpu::jit {

/// What the emitter may count on for one instruction set.
struct Machine {
  Isa isa = Isa::kPortable;
  unsigned vector_bits = 128;
  bool has_fma = false;
  bool has_f16c = false;
  bool has_gather = false;  ///< gathers that beat single loads
  bool has_mask_registers = false;
  bool has_bf16 = false;          ///< vcvtneps2bf16
  const char* features = "";      ///< in LLVM's spelling, on top of x86-64
  const char* sleef_suffix = "";  ///< end of SLEEF's function names for vector_bits
};

/// The row for an instruction set.
const Machine& machine_for(Isa isa) noexcept;

/// Makes the X86 target known to LLVM, once per process.
void initialise_x86();

/// LLVM's code generator for it.
std::unique_ptr<llvm::TargetMachine> make_target_machine(const Machine& machine);

}  // namespace tilewright::cpu::jit
