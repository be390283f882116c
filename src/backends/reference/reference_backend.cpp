#include "backends/reference/reference_backend.h"

#include <optional>

#include "backends/reference/backward.h"
#include "backends/reference/forward.h"
#include "backends/reference/listed_tiles.h"
#include "ir/text.h"

namespace tilewright::reference {

namespace {

class ReferenceKernel final : public backends::Kernel {
 public:
  std::size_t workspace_bytes(const Program&, const Problem&) const override { return 0; }

  std::size_t launch(const backends::Launch& launch) const override {
    std::optional<ListedTiles> listed;
    if (launch.lists != nullptr) listed.emplace(*launch.lists, launch.problem);
    forward({.program = launch.program.structure(),
             .bindings = launch.program.bindings(),
             .problem = launch.problem,
             .listed = listed ? &*listed : nullptr,
             .kv_lengths = launch.kv_lengths,
             .arithmetic = Arithmetic::kMeaning},
            launch.inputs, launch.outputs);
    return 0;
  }

  std::size_t launch_backward(const backends::BackwardLaunch& launch) const override {
    std::optional<ListedTiles> listed;
    if (launch.lists != nullptr) listed.emplace(*launch.lists, launch.problem);
    backward({.program = launch.program.structure(),
              .derivative = launch.derivative,
              .bindings = launch.program.bindings(),
              .problem = launch.problem,
              .listed = listed ? &*listed : nullptr,
              .kv_lengths = launch.kv_lengths,
              .arithmetic = Arithmetic::kMeaning},
             launch.inputs, launch.outputs);
    return 0;
  }
};

class ReferenceBackend final : public backends::Backend {
 public:
  std::string_view name() const noexcept override { return "reference"; }

  TargetInfo info() const override {
    return {.backend = "reference",
            .available = true,
            .device = "any CPU, fp64, one thread",
            .reason = "the meaning that every other backend is compared with",
            .kernels = {"fp64_meaning: usable"}};
  }

  plan::Limits limits(const backends::LimitsRequest&) const override {
    plan::KernelRow row;
    row.name = "fp64_meaning";
    row.dtypes = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16};
    row.min_head_dim = 0;
    row.max_head_dim = std::int64_t{1} << 20;
    row.fast = false;
    return {.backend = "reference", .device = "any CPU", .threads = 1, .rows = {row}};
  }

  backends::Source emit(const backends::EmitRequest& request) const override {
    const ir::Bindings unbound{
        .captures = std::vector<TensorView>(request.program.captures().size()),
        .numbers = std::vector<ir::NumberValue>(request.program.numbers().size())};
    return {.kernel_name = "fp64_meaning",
            .text = ir::print(request.program, unbound),
            .toolchain = "interpreter"};
  }

  backends::Binary compile(const backends::EmitRequest&, const backends::Source&) const override {
    return {};
  }

  std::shared_ptr<const backends::Kernel> load(const backends::EmitRequest&,
                                               const backends::Binary&) const override {
    return std::make_shared<ReferenceKernel>();
  }

  Digest fast_key(const backends::EmitRequest&) const override {
    return DigestWriter().text("reference").finish();
  }
};

}  // namespace

std::shared_ptr<const backends::Backend> make_backend() {
  return std::make_shared<ReferenceBackend>();
}

}  // namespace tilewright::reference
