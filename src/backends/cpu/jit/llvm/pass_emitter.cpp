#include "backends/cpu/jit/llvm/pass_emitter.h"

#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>

#include "backends/cpu/jit/llvm/frame.h"
#include "backends/cpu/jit/llvm/gradient_function.h"
#include "backends/cpu/jit/llvm/machine.h"
#include "backends/cpu/jit/llvm/pass_function.h"
#include "base/check.h"

namespace tilewright::cpu::jit {

using ir::NodeId;
using llvm::Type;
using llvm::Value;

namespace {

/// void record_fault(PassFault*, node, axis, index): the first one stays.
llvm::Function* define_record_fault(llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  llvm::IRBuilder<> b(context);
  Type* integer = b.getInt64Ty();
  auto* type =
      llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), integer, integer, integer}, false);
  auto* function =
      llvm::Function::Create(type, llvm::Function::InternalLinkage, "record_fault", module);
  function->addFnAttr(llvm::Attribute::NoInline);
  function->addFnAttr(llvm::Attribute::Cold);
  function->setDoesNotThrow();
  auto* entry = llvm::BasicBlock::Create(context, "entry", function);
  auto* first = llvm::BasicBlock::Create(context, "first", function);
  auto* done = llvm::BasicBlock::Create(context, "done", function);
  b.SetInsertPoint(entry);
  const auto field = [&](std::size_t offset_bytes) {
    return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), function->getArg(0), offset_bytes);
  };
  Value* node = b.CreateLoad(integer, field(offsetof(PassFault, node)));
  b.CreateCondBr(b.CreateICmpSLT(node, b.getInt64(0)), first, done);
  b.SetInsertPoint(first);
  b.CreateStore(function->getArg(1), field(offsetof(PassFault, node)));
  b.CreateStore(function->getArg(2), field(offsetof(PassFault, axis)));
  b.CreateStore(function->getArg(3), field(offsetof(PassFault, index)));
  b.CreateBr(done);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
  return function;
}

llvm::Function* declare_pass(llvm::Module& module, const Machine& machine, const char* name) {
  llvm::LLVMContext& context = module.getContext();
  Type* pointer = llvm::PointerType::getUnqual(context);
  auto* type = llvm::FunctionType::get(Type::getVoidTy(context), {pointer, pointer}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
  function->setDoesNotThrow();
  // Without these LLVM would split vectors of 512 bits for CPUs that lower their clock.
  const std::string bits = std::to_string(machine.vector_bits);
  function->addFnAttr("min-legal-vector-width", bits);
  function->addFnAttr("prefer-vector-width", bits);
  function->addFnAttr("target-cpu", "x86-64");
  if (*machine.features != '\0') function->addFnAttr("target-features", machine.features);
  return function;
}

/// The nodes of the two roots; those of both belong to the mask where float types agree.
std::vector<bool> nodes_of(const ir::Program& program, std::optional<NodeId> root) {
  return root ? program.reachable_from(*root) : std::vector<bool>(program.size());
}

/// Emits the functions of one module.
class ModuleEmitter {
 public:
  ModuleEmitter(const PassRequest& request, llvm::Module& module)
      : request_(request),
        module_(module),
        machine_(machine_for(request.isa)),
        record_fault_(define_record_fault(module)) {}

  std::int64_t emit_function(const char* name, bool masked) {
    llvm::LLVMContext& context = module_.getContext();
    Builder builder(context, llvm::InstSimplifyFolder(module_.getDataLayout()));
    VectorMath math(builder, machine_);
    Frame frame = make_frame(builder, math, masked);
    frame.function = declare_pass(module_, machine_, name);
    const ir::Program& program = request_.program;
    Type* mask_real = program.mask_is_f64() ? builder.getDoubleTy() : builder.getFloatTy();
    NodeTable mask_table(mask_real, program.size());
    NodeTable score_table(frame.real, program.size());
    const bool is_shared = mask_real == frame.real;
    Domain mask{.table = mask_table,
                .root = masked ? *program.roots().mask : ir::kNoNode,
                .own = nodes_of(program, masked ? program.roots().mask : std::nullopt),
                .is_mask = true};
    Domain score{.table = is_shared ? mask_table : score_table,
                 .root = program.roots().score.value_or(ir::kNoNode),
                 .own = nodes_of(program, program.roots().score)};
    for (const NodeId derivative : program.roots().derivatives) {
      const std::vector<bool> reachable = program.reachable_from(derivative);
      for (NodeId id = 0; id < program.size(); ++id)
        if (reachable[id]) score.own[id] = true;
    }
    for (NodeId id = 0; is_shared && id < program.size(); ++id)
      if (mask.own[id]) score.own[id] = false;
    if (request_.derivative != nullptr)
      return GradientFunction(frame, mask, score, *request_.derivative).emit();
    return PassFunction(frame, mask, score).emit();
  }

 private:
  Frame make_frame(Builder& builder, VectorMath& math, bool masked) {
    Frame frame{.b = builder, .math = math, .machine = machine_, .program = request_.program};
    const PassVariant& variant = request_.variant;
    frame.variant = variant;
    frame.masked = masked;
    frame.real = variant.is_f64 ? builder.getDoubleTy() : builder.getFloatTy();
    frame.lanes = machine_.vector_bits / frame.real->getScalarSizeInBits();
    frame.integer = variant.fits_int32 ? builder.getInt32Ty() : builder.getInt64Ty();
    frame.record_fault = record_fault_;
    frame.unlikely = llvm::MDBuilder(module_.getContext()).createBranchWeights(1, 2000);
    NodePlaces places =
        place_nodes(request_.program, request_.facts,
                    {.faults = variant.checked, .under_mask = masked && variant.checked});
    frame.scopes = std::move(places.scopes);
    frame.early_loads = std::move(places.early_loads);
    frame.kv_steps = kv_steps(request_.program, frame.scopes);
    return frame;
  }

  const PassRequest& request_;
  llvm::Module& module_;
  const Machine& machine_;
  llvm::Function* record_fault_;
};

}  // namespace

std::unique_ptr<llvm::Module> emit_score_pass(const PassRequest& request,
                                              llvm::LLVMContext& context) {
  TILEWRIGHT_CHECK(request.variant.is_f64 == (request.variant.prob == ProbType::kF64));
  auto module = std::make_unique<llvm::Module>("score_pass", context);
  const auto target = make_target_machine(machine_for(request.isa));
  module->setTargetTriple(target->getTargetTriple().str());
  module->setDataLayout(target->createDataLayout());
  ModuleEmitter emitter(request, *module);
  std::int64_t scratch_bytes = emitter.emit_function(kFullSymbol, false);
  if (request.program.roots().mask)
    scratch_bytes = std::max(scratch_bytes, emitter.emit_function(kMaskedSymbol, true));
  auto* integer = Type::getInt64Ty(context);
  new llvm::GlobalVariable(
      *module, integer, true, llvm::GlobalValue::ExternalLinkage,
      llvm::ConstantInt::get(integer, static_cast<std::uint64_t>(scratch_bytes)), kScratchSymbol);
  return module;
}

}  // namespace tilewright::cpu::jit
