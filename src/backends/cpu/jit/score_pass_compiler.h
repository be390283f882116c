#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "analyse/facts.h"
#include "backends/cpu/loaded_pass.h"
#include "backends/cpu/score_pass.h"
#include "ir/differentiate.h"
#include "ir/program.h"
#include "kernels/cpu/micro_kernel.h"

/// Compiles score passes with LLVM. Every function may be called from any number of threads and
/// keeps nothing: what compile_score_pass returns is the whole of a compiled pass.
namespace tilewright::cpu::jit {

/// Whether this build has LLVM. Where it has not, the functions below throw Error{kUnsupported}
/// and the tile interpreter serves.
bool is_available() noexcept;

/// Names everything besides program, variant and instruction set that the object's bytes depend
/// on: part of the key under which it is stored.
std::string compiler_fingerprint();

/// What to compile. `program` and `facts` (structure_facts of the program) must outlive the call.
struct PassRequest {
  const ir::Program& program;
  const analyse::StructureFacts& facts;
  PassVariant variant;
  Isa isa = Isa::kPortable;
  /// Null: the pass of the forward (PassTile). Else that of the backward: its tiles are
  /// GradientTiles, and `program` is the derivative's.
  const ir::Derivative* derivative = nullptr;
};

/// A pass as LLVM IR, before LLVM's own passes.
struct EmittedPass;

std::shared_ptr<EmittedPass> emit_pass(const PassRequest& request);

/// For explain, and as the name of what it compiles to.
std::string ir_text(const EmittedPass& emitted);

/// An ELF object file with the pass in it, for this or another process and for load_score_pass.
/// Compiling needs no CPU that has the instruction set. Uses the IR up.
std::string compile_emitted(EmittedPass& emitted);

/// Both steps.
std::string compile_score_pass(const PassRequest& request);

/// Makes an object runnable on a CPU that has its instruction set. Throws Error{kIo} for bytes
/// that are no such object and for symbols that this process cannot serve; compile again then.
std::shared_ptr<const LoadedPass> load_score_pass(std::string_view object);

}  // namespace tilewright::cpu::jit
