#pragma once

#include <cstdint>
#include <memory>

#include "backends/cpu/jit/score_pass_compiler.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace tilewright::cpu::jit {

inline constexpr const char* kFullSymbol = "score_pass_full";
inline constexpr const char* kMaskedSymbol = "score_pass_masked";
/// An int64: LoadedPass::scratch_bytes_per_column.
inline constexpr const char* kScratchSymbol = "score_pass_scratch_bytes_per_column";

/// The module of a pass: the functions above (kMaskedSymbol only where there is a mask_mod).
std::unique_ptr<llvm::Module> emit_score_pass(const PassRequest& request,
                                              llvm::LLVMContext& context);

}  // namespace tilewright::cpu::jit
