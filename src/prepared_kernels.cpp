#include <chrono>

#include "ir/program.h"
#include "prepared.h"
#include "tilewright/error.h"
#include "tilewright/target.h"

// The kernels of a prepared structure: found in memory, on disk, or compiled.
namespace tilewright {

backends::EmitRequest Prepared::request(const Program& program, const Problem& problem,
                                        backends::Variant variant) const {
  return {.program = program.structure(),
          .facts = facts_,
          .plan = plan_,
          .problem = problem,
          .variant = variant,
          .derivative = nullptr};
}

bool Prepared::has_kernel(const Program& program, const Problem& problem,
                          backends::Variant variant) const {
  return core_->kernels.contains(backend_->fast_key(request(program, problem, variant)));
}

std::shared_ptr<const backends::Kernel> Prepared::kernel(const Program& program,
                                                         const Problem& problem,
                                                         backends::Variant variant,
                                                         bool preparing) {
  return kernel_for(request(program, problem, variant), preparing);
}

std::shared_ptr<const backends::Kernel> Prepared::backward_kernel(const GradientStage& stage,
                                                                  const Problem& problem,
                                                                  backends::Variant variant,
                                                                  bool preparing) {
  return kernel_for({.program = *stage.derivative.program,
                     .facts = stage.facts,
                     .plan = plan_,
                     .problem = problem,
                     .variant = variant,
                     .derivative = &stage.derivative},
                    preparing);
}

std::shared_ptr<const backends::Kernel> Prepared::kernel_for(const backends::EmitRequest& wanted,
                                                             bool preparing) {
  const Digest key = backend_->fast_key(wanted);
  auto [kernel, known] = core_->kernels.get(key, [&] {
    if (!preparing) require_allowed(plan_.kernel);
    return compile(wanted);
  });
  if (known) core_->stats.hit();
  return kernel;
}

cache::Entry Prepared::compile_entry(const backends::EmitRequest& request,
                                     const backends::Source& source) {
  const auto start = std::chrono::steady_clock::now();
  backends::Binary binary = backend_->compile(request, source);
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  core_->stats.compiled(elapsed.count());
  core_->log(LogLevel::kDebug, "compiled " + plan_.backend + "/" + plan_.kernel +
                                   " for structure " + hex(request.program.structure_digest()) +
                                   " in " + std::to_string(elapsed.count()) + " ms");
  return {.binary = std::move(binary.bytes),
          .source = source.text,
          .kernel_name = plan_.backend + "/" + source.kernel_name,
          .toolchain = source.toolchain,
          .entry_points = std::move(binary.entry_points)};
}

std::shared_ptr<const backends::Kernel> Prepared::compile(const backends::EmitRequest& request) {
  const backends::Source source = backend_->emit(request);
  DigestWriter key;
  key.text(version()).text(source.kernel_name).text(source.toolchain).text(source.text);
  const auto [entry, from_disk] =
      core_->disk->get(key.finish(), [&] { return compile_entry(request, source); });
  if (from_disk) core_->stats.disk_hit();
  return backend_->load(request, {.bytes = entry.binary, .entry_points = entry.entry_points});
}

void Prepared::require_allowed(const std::string& kernel) const {
  if (core_->options.compile_policy == CompilePolicy::kAllow) return;
  if (core_->options.compile_policy == CompilePolicy::kWarn)
    return core_->log(LogLevel::kWarning,
                      "compiling " + kernel + " during a call: prepare() it beforehand");
  throw Error(
      {.code = ErrorCode::kCompileForbidden,
       .what = "this call needs a kernel that is not compiled, and the policy forbids compiling",
       .where = plan_.backend + "/" + kernel,
       .expected = "prepare() with this program and this class of problems beforehand",
       .got = "a structure, dtype or head dim that was never prepared",
       .hint = "prepare it at start-up, or set the compile policy to warn"});
}

}  // namespace tilewright
