#include "backends/cuda/device/fault_record.h"

#include <utility>

#include "backends/cuda/device/context_scope.h"
#include "backends/cuda/parameter_block.h"
#include "tilewright/error.h"

namespace tilewright::cuda {

namespace {

constexpr unsigned kPortableAndMapped = 3;  // CU_MEMHOSTALLOC_PORTABLE | _DEVICEMAP

}  // namespace

FaultRecord::FaultRecord(Gpu& gpu, std::string kernel) : gpu_(gpu), kernel_(std::move(kernel)) {
  const Driver& driver = gpu.driver();
  void* memory = nullptr;
  driver.check(driver.host_allocate(&memory, sizeof(Record), kPortableAndMapped), "cuMemHostAlloc",
               "the error record of " + kernel_);
  record_ = static_cast<Record*>(memory);
  record_->code = 0;
  driver.check(driver.host_device_address(&address_, memory, 0), "cuMemHostGetDevicePointer",
               "the error record of " + kernel_);
}

FaultRecord::~FaultRecord() {
  ContextHandle popped = nullptr;
  if (gpu_.driver().context_push(gpu_.context()) != 0) return;
  gpu_.driver().host_deallocate(const_cast<Record*>(record_));
  gpu_.driver().context_pop(&popped);
}

void FaultRecord::launched(const ir::Program& program, std::string problem) {
  const std::lock_guard lock(mutex_);
  problem_ = std::move(problem);
  captures_.clear();
  for (const ir::CaptureSlot& slot : program.captures()) captures_.push_back(slot.name);
}

void FaultRecord::raise_if_written() {
  if (record_->code == 0) return;
  const std::lock_guard lock(mutex_);
  const auto code = static_cast<FaultCode>(record_->code);
  const auto capture = static_cast<std::size_t>(record_->capture);
  const std::int64_t index = record_->index;
  record_->code = 0;
  const std::string where = kernel_ + " on cuda:" + std::to_string(gpu_.facts().ordinal);
  if (code == FaultCode::kNone) return;
  if (code == FaultCode::kDivisionByZero)
    throw Error({.code = ErrorCode::kDivisionByZero,
                 .what = "a live integer division by zero in a mod",
                 .where = where,
                 .expected = "a divisor other than 0",
                 .got = "0, in a call with " + problem_ + " or one before it",
                 .hint = "the kernel went on with 0 as quotient"});
  const std::string name = capture < captures_.size() ? captures_[capture] : "?";
  throw Error({.code = ErrorCode::kIndexOutOfRange,
               .what = "a live subscript left its captured tensor",
               .where = "captured tensor '" + name + "', " + where,
               .expected = "an index inside the tensor",
               .got = std::to_string(index) + ", in a call with " + problem_ + " or one before it",
               .hint = "the kernel went on with 0 as element"});
}

}  // namespace tilewright::cuda
