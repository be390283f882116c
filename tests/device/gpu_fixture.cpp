#include "device/gpu_fixture.h"

#include <algorithm>
#include <cstring>

#include "backends/cuda/launch/launch_site.h"
#include "ir/program.h"

namespace tilewright::device_tests {

namespace {

constexpr std::byte kPoison{0xff};

Machine find_machine() {
  Machine found;
  found.driver = cuda::Driver::open("", found.why_none);
  if (!found.driver) return found;
  for (int ordinal = 0; ordinal < found.driver->devices(); ++ordinal)
    found.gpus.push_back(std::make_unique<cuda::Gpu>(found.driver, ordinal));
  return found;
}

cases::Tensor host_copy_of(const TensorView& view) { return cases::copy_of(view); }

}  // namespace

Machine& machine() {
  static Machine found = find_machine();
  return found;
}

DeviceCopy::DeviceCopy(const cases::Tensor& tensor, int ordinal)
    : tensor_(tensor), gpu_(*machine().gpus.at(static_cast<std::size_t>(ordinal))) {
  const cuda::ContextScope scope(gpu_.driver(), gpu_.context());
  const std::size_t bytes = tensor.bytes().size();
  gpu_.driver().check(gpu_.driver().allocate(&base_, bytes + 2 * kGuardBytes), "cuMemAlloc",
                      "a test tensor");
  view_ = tensor.view();
  const auto offset = static_cast<const std::byte*>(view_.data) - tensor.bytes().data();
  view_.data = reinterpret_cast<void*>(base_ + kGuardBytes + static_cast<std::uint64_t>(offset));
  view_.device = {DeviceKind::kCuda, ordinal};
  upload();
}

DeviceCopy::~DeviceCopy() {
  const cuda::ContextScope scope(gpu_.driver(), gpu_.context());
  gpu_.driver().deallocate(base_);
}

void DeviceCopy::upload() const {
  const cuda::ContextScope scope(gpu_.driver(), gpu_.context());
  const std::span<std::byte> bytes = tensor_.bytes();
  std::vector<std::byte> whole(bytes.size() + 2 * kGuardBytes, kPoison);
  std::copy(bytes.begin(), bytes.end(), whole.begin() + kGuardBytes);
  gpu_.driver().check(gpu_.driver().copy_to_device(base_, whole.data(), whole.size()),
                      "cuMemcpyHtoD", "a test tensor");
}

bool DeviceCopy::download() const {
  const cuda::ContextScope scope(gpu_.driver(), gpu_.context());
  const std::span<std::byte> bytes = tensor_.bytes();
  std::vector<std::byte> whole(bytes.size() + 2 * kGuardBytes);
  gpu_.driver().check(gpu_.driver().copy_to_host(whole.data(), base_, whole.size()), "cuMemcpyDtoH",
                      "a test tensor");
  const auto poisoned = [](std::byte byte) { return byte == kPoison; };
  std::copy_n(whole.begin() + kGuardBytes, bytes.size(), bytes.begin());
  return std::all_of(whole.begin(), whole.begin() + kGuardBytes, poisoned) &&
         std::all_of(whole.end() - kGuardBytes, whole.end(), poisoned);
}

DeviceCall::DeviceCall(const Program& program, const cases::Operands& operands,
                       const cases::Results& results, int ordinal)
    : program_(program),
      results_(results),
      gpu_(*machine().gpus.at(static_cast<std::size_t>(ordinal))),
      query_(operands.query, ordinal),
      key_(operands.key, ordinal),
      value_(operands.value, ordinal),
      out_(results.out, ordinal) {
  if (results.lse) lse_ = std::make_unique<DeviceCopy>(*results.lse, ordinal);
  if (results.max_scores) max_scores_ = std::make_unique<DeviceCopy>(*results.max_scores, ordinal);
  const auto slots = program.structure().captures();
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    captures_.push_back(
        std::make_unique<DeviceCopy>(host_copy_of(program.bindings().captures[slot]), ordinal));
    program_.bind(slots[slot].name, captures_.back()->view());
  }
}

ForwardInputs DeviceCall::inputs() const { return {query_.view(), key_.view(), value_.view()}; }

ForwardOutputs DeviceCall::outputs() const {
  ForwardOutputs outputs{.out = out_.view(), .lse = {}, .max_scores = {}};
  if (lse_) outputs.lse = lse_->view();
  if (max_scores_) outputs.max_scores = max_scores_->view();
  return outputs;
}

void DeviceCall::synchronise() const {
  const cuda::ContextScope scope(gpu_.driver(), gpu_.context());
  gpu_.driver().check(gpu_.driver().context_synchronize(), "cuCtxSynchronize", "a test");
}

std::string DeviceCall::download() const {
  synchronise();
  bool intact = out_.download();
  if (lse_) intact &= lse_->download();
  if (max_scores_) intact &= max_scores_->download();
  for (const auto& capture : captures_) intact &= capture->download();
  intact &= query_.download() && key_.download() && value_.download();
  if (!intact) return "memory outside a tensor's buffer was written";
  return results_.padding_intact() ? "" : "memory between the elements of an output was written";
}

void DeviceCall::poison() const {
  const auto fill = [](const cases::Tensor& tensor, const DeviceCopy& copy) {
    std::memset(tensor.bytes().data(), 0xff, tensor.bytes().size());
    copy.upload();
  };
  fill(results_.out, out_);
  if (lse_) fill(*results_.lse, *lse_);
  if (max_scores_) fill(*results_.max_scores, *max_scores_);
}

std::string wrong(Engine& engine, const Program& program, const cases::Operands& operands,
                  const cases::ResultSpec& spec, const CallOptions& options) {
  const cases::Results results = cases::results_for(operands.inputs(), spec);
  const DeviceCall call(program, operands, results);
  engine.attention(call.program(), call.inputs(), call.outputs(), options);
  if (std::string outside = call.download(); !outside.empty()) return outside;
  const cases::Reference reference =
      cases::reference_of(program, operands.inputs(), {.scale = options.scale}, spec.out_dtype);
  return cases::mismatch(results, reference, operands.query.view().dtype);
}

}  // namespace tilewright::device_tests
