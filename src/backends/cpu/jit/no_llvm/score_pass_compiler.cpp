#include "backends/cpu/jit/score_pass_compiler.h"

#include "tilewright/error.h"

namespace tilewright::cpu::jit {

namespace {

[[noreturn]] void raise_no_compiler() {
  throw Error({.code = ErrorCode::kUnsupported,
               .what = "this build of Tilewright has no LLVM",
               .where = "CPU JIT",
               .expected = "a build with TILEWRIGHT_WITH_LLVM=ON",
               .got = "",
               .hint = "the tile interpreter serves the same programs, slower"});
}

}  // namespace

bool is_available() noexcept { return false; }

std::string compiler_fingerprint() { return "none"; }

struct EmittedPass {};

std::shared_ptr<EmittedPass> emit_pass(const PassRequest& /*request*/) { raise_no_compiler(); }

std::string ir_text(const EmittedPass& /*emitted*/) { raise_no_compiler(); }

std::string compile_emitted(EmittedPass& /*emitted*/) { raise_no_compiler(); }

std::string compile_score_pass(const PassRequest& /*request*/) { raise_no_compiler(); }

std::shared_ptr<const LoadedPass> load_score_pass(std::string_view /*object*/) {
  raise_no_compiler();
}

}  // namespace tilewright::cpu::jit
