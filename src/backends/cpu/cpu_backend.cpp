#include "backends/cpu/cpu_backend.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "backends/cpu/backward_kernel.h"
#include "backends/cpu/cpu_kernel.h"
#include "backends/cpu/gradient_interpreter.h"
#include "backends/cpu/jit/score_pass_compiler.h"
#include "backends/cpu/thread_limit.h"
#include "backends/cpu/tile_interpreter.h"
#include "backends/cpu/tile_sizes.h"
#include "tilewright/error.h"

namespace tilewright::cpu {

namespace {

plan::KernelRow kernel_row(const MicroKernel& kernel, std::optional<Isa> forced) {
  plan::KernelRow row;
  row.name = kernel.name;
  for (DType type : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16})
    if ((kernel.sources >> static_cast<int>(type) & 1) != 0) row.dtypes.push_back(type);
  row.max_head_dim = kMaxHeadDim;
  const TileSizes sizes = tile_sizes(kernel);
  row.q_tile_rows = sizes.q_rows;
  row.q_band_rows = sizes.band_rows;
  row.kv_tile_tokens = sizes.kv_tokens;
  // A row of the portable instruction set serves where nothing faster can, and so does every row
  // without generated code.
  row.fast = kernel.isa != Isa::kPortable && jit::is_available();
  if (auto missing = missing_feature(kernel.isa, cpu_features()))
    row.unavailable = *missing;
  else if (forced && kernel.isa > *forced)
    row.unavailable = "the instruction set is forced to " + std::string(isa_name(*forced));
  return row;
}

PassVariant pass_variant(const MicroKernel& kernel, backends::Variant variant) {
  PassVariant pass;
  pass.is_f64 = kernel.accumulator == DType::kF64;
  pass.prob = kernel.compute == DType::kBF16 ? ProbType::kBF16
                                             : (pass.is_f64 ? ProbType::kF64 : ProbType::kF32);
  pass.fits_int32 = variant.fits_int32;
  pass.checked = variant.checked;
  return pass;
}

class CpuBackend final : public backends::Backend {
 public:
  explicit CpuBackend(const backends::BackendOptions& options) {
    forced_ = forced_isa(options.cpu_isa);
    services_ =
        std::make_shared<CpuServices>(options.threads > 0 ? options.threads : thread_limit());
    limits_.backend = "cpu";
    limits_.device = std::string("x86-64, ") + std::string(isa_name(widest_isa()));
    limits_.threads = services_->workers.threads();
    for (const MicroKernel* kernel : micro_kernel_rows())
      limits_.rows.push_back(kernel_row(*kernel, forced_));
  }

  std::string_view name() const noexcept override { return "cpu"; }
  plan::Limits limits(const backends::LimitsRequest&) const override { return limits_; }

  TargetInfo info() const override {
    TargetInfo info{
        .backend = "cpu", .available = true, .device = limits_.device, .reason = {}, .kernels = {}};
    info.reason =
        jit::is_available()
            ? "score passes are compiled by " + jit::compiler_fingerprint()
            : "built without LLVM: score passes run on the tile interpreter, slower and as correct";
    info.reason += "; " + std::to_string(limits_.threads) + " threads";
    for (const plan::KernelRow& row : limits_.rows)
      info.kernels.push_back(row.name + ": " +
                             (row.unavailable.empty() ? "usable" : row.unavailable));
    return info;
  }

  backends::Source emit(const backends::EmitRequest& request) const override {
    backends::Source source{
        .kernel_name = request.plan.kernel, .text = {}, .toolchain = "tile interpreter"};
    if (!jit::is_available()) return source;
    source.toolchain = jit::compiler_fingerprint();
    const std::shared_ptr<jit::EmittedPass> emitted = jit::emit_pass(pass_request(request));
    source.text = jit::ir_text(*emitted);
    source.parsed = emitted;
    return source;
  }

  backends::Binary compile(const backends::EmitRequest&,
                           const backends::Source& source) const override {
    if (!jit::is_available()) return {};
    auto& emitted = *static_cast<jit::EmittedPass*>(source.parsed.get());
    return {.bytes = jit::compile_emitted(emitted), .entry_points = {}};
  }

  std::shared_ptr<const backends::Kernel> load(const backends::EmitRequest& request,
                                               const backends::Binary& binary) const override {
    const MicroKernel& kernel = micro_kernel(request);
    std::shared_ptr<const LoadedPass> pass = jit::is_available()
                                                 ? jit::load_score_pass(binary.bytes)
                                                 : interpreted_pass(request, kernel);
    if (request.derivative != nullptr)
      return std::make_shared<CpuBackwardKernel>(services_, kernel, std::move(pass),
                                                 *request.derivative);
    return std::make_shared<CpuKernel>(services_, kernel, std::move(pass), request.plan);
  }

  Digest fast_key(const backends::EmitRequest& request) const override {
    DigestWriter writer;
    writer.text(request.derivative != nullptr ? "cpu backward" : "cpu")
        .text(request.plan.kernel)
        .text(hex(request.program.structure_digest()));
    writer.integer(request.variant.fits_int32 ? 1 : 0).integer(request.variant.checked ? 1 : 0);
    return writer.integer(request.plan.q_tile_rows).integer(request.plan.kv_tile_tokens).finish();
  }

 private:
  static std::optional<Isa> forced_isa(const std::string& isa) {
    if (isa.empty()) return std::nullopt;
    const std::optional<Isa> forced = parse_isa(isa);
    const std::optional<std::string> missing =
        forced ? missing_feature(*forced, cpu_features()) : std::nullopt;
    if (forced && !missing) return forced;
    throw Error({.code = ErrorCode::kInvalidArgument,
                 .what = "the CPU instruction set cannot be forced to this",
                 .where = "cpu_isa (TILEWRIGHT_CPU_ISA)",
                 .expected = "amx, avx512bf16, avx512, avx2 or portable, and a CPU that has it",
                 .got = isa + (missing ? ": " + *missing : std::string()),
                 .hint = "`tilewright doctor` lists what this CPU has"});
  }

  Isa widest_isa() const {
    Isa widest = Isa::kPortable;
    for (const MicroKernel* kernel : micro_kernel_rows())
      if (!missing_feature(kernel->isa, cpu_features()) && (!forced_ || kernel->isa <= *forced_))
        widest = std::max(widest, kernel->isa);
    return widest;
  }

  static std::shared_ptr<const LoadedPass> interpreted_pass(const backends::EmitRequest& request,
                                                            const MicroKernel& kernel) {
    const PassVariant variant = pass_variant(kernel, request.variant);
    if (request.derivative != nullptr) return interpret_gradient_pass(*request.derivative, variant);
    return interpret_score_pass(request.program, variant);
  }

  static const MicroKernel& micro_kernel(const backends::EmitRequest& request) {
    return *micro_kernel_rows()[request.plan.row];
  }

  static jit::PassRequest pass_request(const backends::EmitRequest& request) {
    const MicroKernel& kernel = micro_kernel(request);
    return {.program = request.program,
            .facts = request.facts,
            .variant = pass_variant(kernel, request.variant),
            .isa = kernel.isa,
            .derivative = request.derivative};
  }

  std::optional<Isa> forced_;
  std::shared_ptr<CpuServices> services_;
  plan::Limits limits_;
};

}  // namespace

std::shared_ptr<const backends::Backend> make_backend(const backends::BackendOptions& options) {
  return std::make_shared<CpuBackend>(options);
}

}  // namespace tilewright::cpu
