#include <algorithm>

#include "backends/cpu/gradient_pass.h"
#include "backends/cpu/jit/llvm/gradient_function.h"

/// Captured gradients (semantics R7): from products to sums, from sums to elements.
namespace tilewright::cpu::jit {

using ir::NodeId;
using llvm::Value;

namespace {

/// A subscript after its one wrap, and whether it is inside.
struct Wrapped {
  Value* index;
  Value* is_inside;
};

Wrapped wrap(Builder& b, Value* index, Value* extent) {
  Value* negative = b.CreateICmpSLT(index, llvm::Constant::getNullValue(index->getType()));
  Value* wrapped = b.CreateSelect(negative, b.CreateAdd(index, extent), index);
  return {wrapped, b.CreateICmpULT(wrapped, extent)};
}

}  // namespace

std::span<const NodeId> GradientFunction::subscripts(const Sum& sum) const {
  const auto operands = frame_.program.operands(sum.load->load);
  return operands.first(operands.size() - 1);
}

Scope GradientFunction::scope_of_subscripts(const Sum& sum) const {
  Scope scope = Scope::kTile;
  bool reads_row = false;
  for (const NodeId subscript : subscripts(sum)) {
    reads_row = reads_row || frame_.scopes[subscript] == Scope::kRow;
    scope = std::max(scope, frame_.scopes[subscript]);
  }
  return reads_row && scope == Scope::kColumn ? Scope::kScore : scope;
}

void GradientFunction::list_sums() {
  if (derivative_.loads.empty()) return;
  Value* bases = gradient_field(offsetof(GradientTile, capture_sums), b_.getPtrTy());
  for (const ir::LoadDerivative& load : derivative_.loads) {
    Sum& sum = sums_.emplace_back();
    sum.load = &load;
    sum.scope = scope_of_subscripts(sum);
    sum.base = frame_.field(bases, load.capture * sizeof(void*), b_.getPtrTy());
    const std::vector<Value*>& extents = frame_.captures[load.capture].extents;
    sum.strides.assign(extents.size(), b_.getInt64(1));
    for (std::size_t axis = extents.size(); axis-- > 1;)
      sum.strides[axis - 1] = b_.CreateMul(sum.strides[axis], extents[axis]);
    sum.spare = extents.empty() ? b_.getInt64(1) : b_.CreateMul(sum.strides[0], extents[0]);
    if (sum.scope != Scope::kColumn) continue;
    sum.scratch_offset = scratch_bytes_per_column_;
    scratch_bytes_per_column_ += frame_.real->getScalarSizeInBits() / 8;
  }
}

Value* GradientFunction::column_sum_address(const Sum& sum, Value* column) {
  Value* offset = b_.CreateMul(frame_.prob_cols, b_.getInt64(sum.scratch_offset));
  Value* sums = b_.CreateGEP(b_.getInt8Ty(), frame_.column_scratch, offset);
  return b_.CreateGEP(frame_.real, sums, column);
}

void GradientFunction::start_column_sums() {
  for (const Sum& sum : sums_) {
    if (sum.scope != Scope::kColumn) continue;
    emit_loop(b_, tile_.vector_begin, tile_.vector_end, frame_.lanes, [&](Value* column) {
      b_.CreateAlignedStore(zeros(), column_sum_address(sum, column), llvm::Align(4));
    });
  }
}

void GradientFunction::start_scope(Scope scope) {
  for (Sum& sum : sums_)
    if (sum.scope == scope) sum.total.emplace(b_, frame_.function, zeros());
}

void GradientFunction::add_to_sums(Value* column, Value* live, Value* d_t) {
  for (Sum& sum : sums_) {
    Value* product = b_.CreateFMul(d_t, score_.lanes(sum.load->factor));
    Value* reached = live;
    const NodeId guard = frame_.program.operands(sum.load->load).back();
    if (frame_.program.node(guard).op != ir::Op::kLiteral)
      reached = b_.CreateAnd(live, score_.lanes(guard));
    product = b_.CreateSelect(reached, product, zeros());
    if (sum.total) {
      sum.total->set(b_.CreateFAdd(sum.total->get(), product));
    } else if (sum.scope == Scope::kColumn) {
      Value* address = column_sum_address(sum, column);
      Value* before = b_.CreateAlignedLoad(frame_.vector_of(frame_.real), address, llvm::Align(4));
      b_.CreateAlignedStore(b_.CreateFAdd(before, product), address, llvm::Align(4));
    } else {
      scatter(sum, product, reached);
    }
  }
}

void GradientFunction::finish_scope(Scope scope) {
  for (Sum& sum : sums_) {
    if (sum.scope != scope) continue;
    add_scalar(sum, sum.total->get());
    sum.total.reset();
  }
}

void GradientFunction::finish_columns() {
  const bool none = std::none_of(sums_.begin(), sums_.end(),
                                 [](const Sum& sum) { return sum.scope == Scope::kColumn; });
  if (none) return;
  emit_loop(b_, tile_.vector_begin, tile_.vector_end, frame_.lanes, [&](Value* column) {
    mask_domain_.table.forget_vectors();
    score_domain_.table.forget_vectors();
    stand_at(column);
    Value* first = frame_.splat_integer(frame_.kv_first);
    frame_.kv_vector = b_.CreateAdd(first, b_.CreateStepVector(first->getType()));
    for (const Sum& sum : sums_) {
      if (sum.scope != Scope::kColumn) continue;
      Value* total = b_.CreateAlignedLoad(frame_.vector_of(frame_.real),
                                          column_sum_address(sum, column), llvm::Align(4));
      scatter(sum, total, lanes_in_range(column));
    }
  });
}

void GradientFunction::add_scalar(const Sum& sum, Value* vector) {
  llvm::FastMathFlags flags;
  flags.setAllowReassoc();
  llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
  b_.setFastMathFlags(flags);
  Value* total = b_.CreateFAddReduce(llvm::ConstantFP::get(frame_.real, -0.0), vector);
  b_.clearFastMathFlags();
  const ScalarPlace place = scalar_place(sum);
  Value* address = b_.CreateGEP(frame_.real, sum.base, place.offset);
  b_.CreateStore(b_.CreateFAdd(b_.CreateLoad(frame_.real, address), total), address);
}

/// The part of the offset that scalar subscripts make, the spare element where one of them is
/// outside: rows that no live pair reads from may hold any subscript.
GradientFunction::ScalarPlace GradientFunction::scalar_place(const Sum& sum) {
  ScalarPlace place{.offset = b_.getInt64(0), .is_inside = nullptr};
  const auto nodes = subscripts(sum);
  const std::vector<Value*>& extents = frame_.captures[sum.load->capture].extents;
  for (std::size_t axis = 0; axis < nodes.size(); ++axis) {
    if (frame_.scopes[nodes[axis]] > Scope::kRow) continue;
    const Wrapped wrapped = wrap(b_, score_.single(nodes[axis]), extents[axis]);
    place.is_inside = frame_.both(place.is_inside, wrapped.is_inside);
    place.offset = b_.CreateAdd(place.offset, b_.CreateMul(wrapped.index, sum.strides[axis]));
  }
  if (place.is_inside != nullptr)
    place.offset = b_.CreateSelect(place.is_inside, place.offset, sum.spare);
  return place;
}

void GradientFunction::scatter(const Sum& sum, Value* vector, Value* live) {
  const auto nodes = subscripts(sum);
  std::size_t moving = nodes.size();
  for (std::size_t axis = 0; axis < nodes.size(); ++axis) {
    if (frame_.scopes[nodes[axis]] <= Scope::kRow) continue;
    const bool is_only_last = moving == nodes.size() && axis + 1 == nodes.size();
    moving = is_only_last ? axis : axis + nodes.size() + 1;
  }
  // Subscripts that come from scratch are loaded here, before any branch.
  for (const NodeId node : nodes)
    if (frame_.scopes[node] > Scope::kRow) score_.lanes(node);
  const bool is_regular = moving < nodes.size() && frame_.kv_steps[nodes[moving]].value_or(0) != 0;
  if (!is_regular) return scatter_lanes(sum, vector, live);
  scatter_side_by_side(sum, vector, live);
}

/// Lanes whose elements lie side by side are added as one vector. Dead ones add 0 to elements that
/// no other strip adds to at the same time: lanes of a vector have keys of one strip.
void GradientFunction::scatter_side_by_side(const Sum& sum, Value* vector, Value* live) {
  const NodeId subscript = subscripts(sum).back();
  const bool is_backwards = *frame_.kv_steps[subscript] < 0;
  Value* last_lane = b_.getInt64(frame_.lanes - 1);
  Value* first = score_.first_lane(subscript);
  if (is_backwards) first = b_.CreateSub(first, last_lane);
  Value* extent = frame_.captures[sum.load->capture].extents.back();
  Value* fits = b_.CreateAnd(b_.CreateICmpSGE(first, b_.getInt64(0)),
                             b_.CreateICmpSLT(b_.CreateAdd(first, last_lane), extent));
  const ScalarPlace place = scalar_place(sum);
  fits = frame_.both(place.is_inside, fits);
  emit_if(b_, fits, nullptr, [&] {
    Value* address = b_.CreateGEP(frame_.real, sum.base, b_.CreateAdd(place.offset, first));
    Value* added = is_backwards ? b_.CreateVectorReverse(vector) : vector;
    Value* before = b_.CreateAlignedLoad(vector->getType(), address, llvm::Align(4));
    b_.CreateAlignedStore(b_.CreateFAdd(before, added), address, llvm::Align(4));
  });
  emit_if(b_, b_.CreateNot(fits), frame_.unlikely, [&] { scatter_lanes(sum, vector, live); });
}

/// Dead lanes go to the spare element: whatever element of the tensor they chose, another strip may
/// be adding to it.
void GradientFunction::scatter_lanes(const Sum& sum, Value* vector, Value* live) {
  const auto nodes = subscripts(sum);
  const std::vector<Value*>& extents = frame_.captures[sum.load->capture].extents;
  const ScalarPlace place = scalar_place(sum);
  if (place.is_inside != nullptr) live = b_.CreateAnd(live, frame_.splat(place.is_inside));
  std::vector<std::pair<Value*, Value*>> moving;  // subscripts of every lane, and strides
  for (std::size_t axis = 0; axis < nodes.size(); ++axis) {
    if (frame_.scopes[nodes[axis]] <= Scope::kRow) continue;
    Value* extent = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, extents[axis],
                                             b_.getInt64(most_lane_index()));
    const Wrapped wrapped = wrap(b_, score_.lanes(nodes[axis]), frame_.splat_integer(extent));
    live = b_.CreateAnd(live, wrapped.is_inside);
    moving.emplace_back(wrapped.index, sum.strides[axis]);
  }
  for (unsigned lane = 0; lane < frame_.lanes; ++lane) {
    Value* offset = place.offset;
    for (const auto& [index, stride] : moving) {
      Value* one = b_.CreateSExt(b_.CreateExtractElement(index, lane), b_.getInt64Ty());
      offset = b_.CreateAdd(offset, b_.CreateMul(one, stride));
    }
    offset = b_.CreateSelect(b_.CreateExtractElement(live, lane), offset, sum.spare);
    Value* address = b_.CreateGEP(frame_.real, sum.base, offset);
    Value* before = b_.CreateLoad(frame_.real, address);
    b_.CreateStore(b_.CreateFAdd(before, b_.CreateExtractElement(vector, lane)), address);
  }
}

std::int64_t GradientFunction::most_lane_index() const {
  return frame_.integer->getScalarSizeInBits() == 64 ? std::numeric_limits<std::int64_t>::max()
                                                     : std::numeric_limits<std::int32_t>::max();
}

}  // namespace tilewright::cpu::jit
