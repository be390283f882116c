#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Pass.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Scalar.h>
#include <llvm/Transforms/Utils.h>

#include "backends/cpu/jit/llvm/machine.h"
#include "backends/cpu/jit/llvm/pass_emitter.h"
#include "backends/cpu/jit/llvm/symbols.h"
#include "backends/cpu/jit/score_pass_compiler.h"
#include "base/check.h"

namespace tilewright::cpu::jit {

namespace {

// The emitter writes what it wants to see; all that is left is to put variables into registers and
// to share what both roots compute.
std::string object_bytes(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  passes.add(llvm::createPromoteMemoryToRegisterPass());
  passes.add(llvm::createEarlyCSEPass());
  const bool cannot_emit =
      machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile, true);
  TILEWRIGHT_CHECK(!cannot_emit);
  passes.run(module);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

bool is_available() noexcept { return true; }

std::string compiler_fingerprint() {
  return std::string("LLVM ") + LLVM_VERSION_STRING + (has_sleef() ? " with SLEEF" : "");
}

struct EmittedPass {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;  ///< null once it was compiled
  Isa isa = Isa::kPortable;
  std::size_t nodes = 0;  ///< of the program
};

std::shared_ptr<EmittedPass> emit_pass(const PassRequest& request) {
  auto emitted = std::make_shared<EmittedPass>();
  emitted->module = emit_score_pass(request, emitted->context);
  emitted->isa = request.isa;
  emitted->nodes = request.program.size();
  return emitted;
}

std::string ir_text(const EmittedPass& emitted) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  emitted.module->print(stream, nullptr);
  return text;
}

std::string compile_emitted(EmittedPass& emitted) {
  TILEWRIGHT_CHECK(emitted.module != nullptr);
  const std::unique_ptr<llvm::Module> module = std::move(emitted.module);
  TILEWRIGHT_CHECK(!llvm::verifyModule(*module));
  // Scheduling and allocating registers take time quadratic in what one loop computes: programs far
  // past any that a person writes get by without.
  constexpr std::size_t kMostOptimisedNodes = 1500;
  const auto machine = make_target_machine(machine_for(emitted.isa));
  if (emitted.nodes > kMostOptimisedNodes) machine->setOptLevel(llvm::CodeGenOptLevel::None);
  return object_bytes(*module, *machine);
}

std::string compile_score_pass(const PassRequest& request) {
  return compile_emitted(*emit_pass(request));
}

}  // namespace tilewright::cpu::jit
