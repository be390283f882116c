#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>

#include "backends/cpu/jit/llvm/machine.h"
#include "backends/cpu/jit/llvm/pass_emitter.h"
#include "backends/cpu/jit/llvm/symbols.h"
#include "backends/cpu/jit/score_pass_compiler.h"
#include "tilewright/error.h"

namespace tilewright::cpu::jit {

namespace {

namespace orc = llvm::orc;

[[noreturn]] void raise_unusable(const std::string& reason) {
  throw Error({.code = ErrorCode::kIo,
               .what = "a compiled score pass cannot be loaded",
               .where = "CPU JIT",
               .expected = "an object file that compile_score_pass made",
               .got = reason,
               .hint = "remove it from the cache, so that it is compiled again"});
}

template <class T>
T value_or_raise(llvm::Expected<T> value) {
  if (!value) raise_unusable(llvm::toString(value.takeError()));
  return std::move(*value);
}

void succeed_or_raise(llvm::Error error) {
  if (error) raise_unusable(llvm::toString(std::move(error)));
}

/// Names that the object needs and names that it defines.
struct ObjectSymbols {
  std::vector<std::string> undefined;
  bool has_mask = false;
};

ObjectSymbols symbols_of(llvm::MemoryBufferRef object) {
  const auto file = value_or_raise(llvm::object::ObjectFile::createELFObjectFile(object));
  ObjectSymbols symbols;
  for (const llvm::object::SymbolRef& symbol : file->symbols()) {
    const std::string name = value_or_raise(symbol.getName()).str();
    const std::uint32_t flags = value_or_raise(symbol.getFlags());
    if ((flags & llvm::object::SymbolRef::SF_Undefined) != 0 && !name.empty())
      symbols.undefined.push_back(name);
    symbols.has_mask = symbols.has_mask || name == kMaskedSymbol;
  }
  return symbols;
}

/// Only the names that the object asks for, at the addresses that find_symbol knows.
void define_symbols(orc::LLJIT& jit, const std::vector<std::string>& names) {
  orc::SymbolMap addresses;
  for (const std::string& name : names) {
    if (name == "_GLOBAL_OFFSET_TABLE_") continue;
    const std::optional<void*> address = find_symbol(name);
    if (!address) raise_unusable("it calls '" + name + "', which is not there");
    addresses[jit.mangleAndIntern(name)] = {orc::ExecutorAddr::fromPtr(*address),
                                            llvm::JITSymbolFlags::Exported};
  }
  if (addresses.empty()) return;
  succeed_or_raise(jit.getMainJITDylib().define(orc::absoluteSymbols(std::move(addresses))));
}

std::shared_ptr<orc::LLJIT> make_jit() {
  initialise_x86();
  orc::JITTargetMachineBuilder target{llvm::Triple("x86_64-unknown-linux-gnu")};
  auto jit = value_or_raise(orc::LLJITBuilder()
                                .setJITTargetMachineBuilder(std::move(target))
                                .setLinkProcessSymbolsByDefault(false)
                                .setPlatformSetUp(orc::setUpInactivePlatform)
                                .create());
  return jit;
}

LoadedPass::Run entry(const std::shared_ptr<orc::LLJIT>& jit, const char* symbol) {
  const auto function = value_or_raise(jit->lookup(symbol)).toPtr<ScorePassFn>();
  return [jit, function](const PassCall* call, const PassTile* tile) { function(call, tile); };
}

}  // namespace

std::shared_ptr<const LoadedPass> load_score_pass(std::string_view object) {
  const llvm::MemoryBufferRef bytes(llvm::StringRef(object.data(), object.size()), "score_pass");
  const ObjectSymbols symbols = symbols_of(bytes);
  const std::shared_ptr<orc::LLJIT> jit = make_jit();
  define_symbols(*jit, symbols.undefined);
  succeed_or_raise(jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(bytes.getBuffer())));
  auto pass = std::make_shared<LoadedPass>();
  pass->full = entry(jit, kFullSymbol);
  pass->masked = symbols.has_mask ? entry(jit, kMaskedSymbol) : pass->full;
  pass->scratch_bytes_per_column =
      *value_or_raise(jit->lookup(kScratchSymbol)).toPtr<const std::int64_t*>();
  pass->description = "compiled by " + compiler_fingerprint();
  return pass;
}

}  // namespace tilewright::cpu::jit
