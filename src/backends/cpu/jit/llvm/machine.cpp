#include "backends/cpu/jit/llvm/machine.h"

#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>

#include <mutex>

#include "base/check.h"

namespace tilewright::cpu::jit {

namespace {

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";

constexpr Machine kPortable{.sleef_suffix = "sse2"};

constexpr Machine kAvx2{.isa = Isa::kAvx2,
                        .vector_bits = 256,
                        .has_fma = true,
                        .has_f16c = true,
                        .features = "+avx2,+fma,+f16c",
                        .sleef_suffix = "avx2"};

constexpr Machine kAvx512{.isa = Isa::kAvx512,
                          .vector_bits = 512,
                          .has_fma = true,
                          .has_f16c = true,
                          .has_gather = true,
                          .has_mask_registers = true,
                          .features = "+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx2,+fma,+f16c",
                          .sleef_suffix = "avx512f"};

constexpr Machine kAvx512Bf16{
    .isa = Isa::kAvx512Bf16,
    .vector_bits = 512,
    .has_fma = true,
    .has_f16c = true,
    .has_gather = true,
    .has_mask_registers = true,
    .has_bf16 = true,
    .features = "+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512bf16,+avx2,+fma,+f16c",
    .sleef_suffix = "avx512f"};

}  // namespace

void initialise_x86() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
}

const Machine& machine_for(Isa isa) noexcept {
  switch (isa) {
    case Isa::kPortable:
      return kPortable;
    case Isa::kAvx2:
      return kAvx2;
    case Isa::kAvx512:
      return kAvx512;
    case Isa::kAvx512Bf16:
    case Isa::kAmx:
      return kAvx512Bf16;
  }
  return kPortable;
}

std::unique_ptr<llvm::TargetMachine> make_target_machine(const Machine& machine) {
  initialise_x86();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(kTriple, error);
  TILEWRIGHT_CHECK(target != nullptr);
  llvm::TargetOptions options;
  // Only llvm.fmuladd may fuse: mask_mod is uncontracted arithmetic (semantics R3).
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  std::unique_ptr<llvm::TargetMachine> made(
      target->createTargetMachine(kTriple, "x86-64", machine.features, options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
  TILEWRIGHT_CHECK(made != nullptr);
  return made;
}

}  // namespace tilewright::cpu::jit
