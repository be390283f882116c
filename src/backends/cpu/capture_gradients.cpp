#include "backends/cpu/capture_gradients.h"

#include <algorithm>
#include <cstring>

#include "base/element.h"

namespace tilewright::cpu {

namespace {

/// Of all copies of one tensor; the first is beyond it if it must.
constexpr std::size_t kBudgetBytes = std::size_t{128} << 20;
constexpr std::int64_t kMostSlots = 16;
constexpr std::int64_t kElementsPerTask = 1 << 14;

std::size_t real_bytes(const BackwardCall& call) { return size_bytes(call.kernel->accumulator); }

/// The tensor and behind it a spare element, where dead lanes go and nobody looks.
std::size_t copy_bytes(const BackwardCall& call, const CaptureTarget& target) {
  const auto elements = static_cast<std::size_t>(element_count(target.gradient.shape)) + 1;
  return (elements * real_bytes(call) + kPanelAlignment - 1) / kPanelAlignment * kPanelAlignment;
}

bool subscripts_have(const ir::Program& program, ir::NodeId load, ir::Op op) {
  const auto operands = program.operands(load);
  return std::any_of(operands.begin(), operands.end() - 1,
                     [&](ir::NodeId subscript) { return program.node(subscript).op == op; });
}

/// Bit a is set where subscript a is `op` itself: different values of it never meet in an element.
std::uint32_t axes_of(const ir::Program& program, ir::NodeId load, ir::Op op) {
  const auto operands = program.operands(load);
  std::uint32_t axes = 0;
  for (std::size_t axis = 0; axis + 1 < operands.size(); ++axis)
    if (program.node(operands[axis]).op == op) axes |= std::uint32_t{1} << axis;
  return axes;
}

template <class Real>
void add_copies(const std::vector<Real*>& copies, std::int64_t begin, std::int64_t end) {
  for (std::size_t step = 1; step < copies.size(); step *= 2)
    for (std::size_t to = 0; to + step < copies.size(); to += 2 * step)
      for (std::int64_t i = begin; i < end; ++i) copies[to][i] += copies[to + step][i];
}

/// Elements [begin, end), row-major, of a tensor of any strides.
template <class Real>
void write_elements(const TensorView& gradient, const Real* from, std::int64_t begin,
                    std::int64_t end) {
  for (std::int64_t element = begin; element < end; ++element) {
    std::int64_t rest = element;
    std::int64_t offset = 0;
    for (std::size_t axis = gradient.rank(); axis-- > 0;) {
      if (gradient.shape[axis] != 1) offset += rest % gradient.shape[axis] * gradient.strides[axis];
      rest /= gradient.shape[axis];
    }
    write_real(gradient, offset, static_cast<double>(from[element]));
  }
}

template <class Real>
void store_part(const TensorView& gradient, const std::vector<void*>& copies, std::int64_t task) {
  const std::int64_t begin = task * kElementsPerTask;
  const std::int64_t end = std::min(begin + kElementsPerTask, element_count(gradient.shape));
  std::vector<Real*> typed;
  for (void* copy : copies) typed.push_back(static_cast<Real*>(copy));
  add_copies(typed, begin, end);
  write_elements(gradient, typed.front(), begin, end);
}

}  // namespace

std::vector<CaptureSharing> capture_sharing(const BackwardCall& call,
                                            const StripOrder::Shape& shape) {
  const ir::Program& program = *call.derivative->program;
  std::vector<CaptureSharing> all;
  for (const CaptureTarget& target : call.captures) {
    // A tensor is separated by what every load has on the same axis: bias[q][kv] and bias[kv][q]
    // meet.
    std::uint32_t batch_axes = ~std::uint32_t{0};
    std::uint32_t head_axes = batch_axes;
    std::uint32_t key_axes = batch_axes;
    for (const ir::LoadDerivative& load : call.derivative->loads) {
      if (load.capture != target.slot) continue;
      batch_axes &= axes_of(program, load.load, ir::Op::kBatch);
      head_axes &= axes_of(program, load.load, ir::Op::kHead);
      key_axes &= axes_of(program, load.load, ir::Op::kKey);
    }
    CaptureSharing sharing;
    sharing.separated_by_batch = batch_axes != 0;
    sharing.separated_by_head = head_axes != 0;
    sharing.separated_by_keys = key_axes != 0;
    const auto affordable = static_cast<std::int64_t>(kBudgetBytes / copy_bytes(call, target));
    sharing.slots = std::max<std::int64_t>(
        1, std::min({affordable, kMostSlots, largest_sharing_class(shape, sharing)}));
    all.push_back(sharing);
  }
  return all;
}

bool claims_unit_by_unit(const ir::Program& program) {
  for (ir::NodeId id = 0; id < program.size(); ++id) {
    const ir::Node& node = program.node(id);
    if (node.op != ir::Op::kLoad || node.type != ir::Type::kFloat) continue;
    const bool separated_by_unit =
        subscripts_have(program, id, ir::Op::kBatch) && subscripts_have(program, id, ir::Op::kHead);
    if (subscripts_have(program, id, ir::Op::kKey) && !separated_by_unit) return true;
  }
  return false;
}

std::size_t CaptureGradients::bytes(const BackwardCall& call,
                                    std::span<const CaptureSharing> sharing) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < call.captures.size(); ++i)
    bytes += copy_bytes(call, call.captures[i]) * static_cast<std::size_t>(sharing[i].slots);
  return bytes;
}

CaptureGradients::CaptureGradients(const BackwardCall& call,
                                   std::span<const CaptureSharing> sharing, char* memory)
    : call_(call), copies_(call.captures.size()) {
  for (std::size_t i = 0; i < call.captures.size(); ++i)
    for (std::int64_t slot = 0; slot < sharing[i].slots; ++slot) {
      copies_[i].push_back(memory);
      memory += copy_bytes(call, call.captures[i]);
    }
}

void CaptureGradients::clear(const WorkerPool& workers, const HostServices& host) const {
  workers.run(static_cast<std::int64_t>(copies_.size()), host, [&](std::int64_t target) {
    const auto at = static_cast<std::size_t>(target);
    for (void* copy : copies_[at]) std::memset(copy, 0, copy_bytes(call_, call_.captures[at]));
  });
}

std::vector<void*> CaptureGradients::sums(const StripOrder& order,
                                          const StripOrder::Strip& strip) const {
  std::vector<void*> sums(call_.derivative->program->captures().size(), nullptr);
  for (std::size_t i = 0; i < copies_.size(); ++i)
    sums[call_.captures[i].slot] = copies_[i][static_cast<std::size_t>(order.slot(strip, i))];
  return sums;
}

void CaptureGradients::store(const WorkerPool& workers, const HostServices& host) const {
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    const TensorView& gradient = call_.captures[i].gradient;
    const std::int64_t elements = element_count(gradient.shape);
    workers.run((elements + kElementsPerTask - 1) / kElementsPerTask, host, [&](std::int64_t task) {
      if (real_bytes(call_) == 8)
        store_part<double>(gradient, copies_[i], task);
      else
        store_part<float>(gradient, copies_[i], task);
    });
  }
}

}  // namespace tilewright::cpu
