#include "backends/cpu/jit/llvm/capture_loads.h"

#include <llvm/IR/Intrinsics.h>

#include <limits>

namespace tilewright::cpu::jit {

using ir::NodeId;
using ir::Op;
using llvm::Type;
using llvm::Value;

namespace {

struct StoredElement {
  Type* type;
  DType dtype;
};

StoredElement stored_element(Builder& b, DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return {b.getDoubleTy(), dtype};
    case DType::kF32:
      return {b.getFloatTy(), dtype};
    case DType::kF16:
    case DType::kBF16:
    case DType::kI16:
      return {b.getInt16Ty(), dtype};
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      return {b.getInt8Ty(), dtype};
    case DType::kI32:
      return {b.getInt32Ty(), dtype};
    case DType::kI64:
      break;
  }
  return {b.getInt64Ty(), dtype};
}

/// Elements as stored to the value that the node has.
Value* converted(Frame& frame, const CaptureLoad& load, DType dtype, Value* stored) {
  Builder& b = frame.b;
  Type* real = shaped_like(stored->getType(), load.real);
  Type* integer = shaped_like(stored->getType(), load.is_vector ? frame.integer : b.getInt64Ty());
  switch (dtype) {
    case DType::kF64:
      return load.real->isDoubleTy() ? stored : b.CreateFPTrunc(stored, real);
    case DType::kF32:
      return load.real->isDoubleTy() ? b.CreateFPExt(stored, real) : stored;
    case DType::kF16:
      stored = frame.math.from_f16_bits(stored);
      return load.real->isDoubleTy() ? b.CreateFPExt(stored, real) : stored;
    case DType::kBF16:
      stored = frame.math.from_bf16_bits(stored);
      return load.real->isDoubleTy() ? b.CreateFPExt(stored, real) : stored;
    case DType::kU8:
      return b.CreateZExt(stored, integer);
    case DType::kBool:
      return b.CreateICmpNE(stored, llvm::Constant::getNullValue(stored->getType()));
    default:
      return b.CreateSExtOrTrunc(stored, integer);
  }
}

bool never_negative(const ir::Program& program, NodeId id) {
  switch (program.node(id).op) {
    case Op::kBatch:
    case Op::kHead:
    case Op::kQuery:
    case Op::kKey:
      return true;
    default:
      return false;
  }
}

/// The one wrap of a negative subscript.
Value* wrapped(Builder& b, Value* index, Value* extent) {
  Value* negative = b.CreateICmpSLT(index, llvm::Constant::getNullValue(index->getType()));
  return b.CreateSelect(negative, b.CreateAdd(index, extent), index);
}

/// A capture's number beside indices of this shape.
Value* beside(Frame& frame, const CaptureLoad& load, Value* number) {
  return load.is_vector ? frame.splat_integer(number) : number;
}

/// Where indices have 32 bits no index comes near an extent that has more.
Value* extent_beside(Frame& frame, const CaptureLoad& load, Value* extent) {
  if (!load.is_vector || frame.integer->getScalarSizeInBits() == 64)
    return beside(frame, load, extent);
  Value* most = frame.b.getInt64(std::numeric_limits<std::int32_t>::max());
  return frame.splat_integer(frame.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, extent, most));
}

/// Element offsets, 0 where nothing may be read.
Value* safe_offsets(Frame& frame, const CaptureLoad& load) {
  Builder& b = frame.b;
  const CaptureValues& capture = frame.captures[frame.program.node(load.node).payload];
  Value* offset = nullptr;
  Value* readable = load.live;
  for (std::size_t axis = 0; axis < load.indices.size(); ++axis) {
    Value* index = load.indices[axis];
    Value* extent = extent_beside(frame, load, capture.extents[axis]);
    if (!never_negative(frame.program, frame.program.operands(load.node)[axis]))
      index = wrapped(b, index, extent);
    if (load.check_bounds) {
      Value* outside = b.CreateICmpUGE(index, extent);
      if (load.record_faults)
        emit_fault(frame, frame.both(outside, load.live), load.node,
                   static_cast<std::int64_t>(axis), load.indices[axis]);
      readable = frame.both(readable, b.CreateNot(outside));
    }
    Value* moved = b.CreateMul(index, beside(frame, load, capture.strides[axis]));
    offset = offset == nullptr ? moved : b.CreateAdd(offset, moved);
  }
  if (offset == nullptr) return load.is_vector ? beside(frame, load, b.getInt64(0)) : b.getInt64(0);
  if (readable == nullptr) return offset;
  return b.CreateSelect(readable, offset, llvm::Constant::getNullValue(offset->getType()));
}

Value* gather_elements(Frame& frame, Value* data, Value* offsets, Type* element) {
  Builder& b = frame.b;
  if (!offsets->getType()->isVectorTy())
    return b.CreateLoad(element, b.CreateGEP(element, data, offsets));
  if (frame.machine.has_gather && element->getScalarSizeInBits() >= 32) {
    Value* pointers = b.CreateGEP(element, data, offsets);
    return b.CreateMaskedGather(frame.vector_of(element), pointers, llvm::Align(1));
  }
  Value* gathered = llvm::PoisonValue::get(frame.vector_of(element));
  for (unsigned lane = 0; lane < frame.lanes; ++lane) {
    Value* offset = b.CreateSExt(b.CreateExtractElement(offsets, lane), b.getInt64Ty());
    Value* loaded = b.CreateLoad(element, b.CreateGEP(element, data, offset));
    gathered = b.CreateInsertElement(gathered, loaded, lane);
  }
  return gathered;
}

}  // namespace

void emit_fault(Frame& frame, Value* faulty, NodeId node, std::int64_t axis, Value* index) {
  Builder& b = frame.b;
  const bool is_vector = faulty->getType()->isVectorTy();
  Value* lanes = is_vector ? b.CreateBitCast(faulty, b.getIntNTy(frame.lanes)) : faulty;
  Value* any = is_vector ? b.CreateIsNotNull(lanes) : b.CreateAnd(faulty, frame.nonempty);
  auto* note = llvm::BasicBlock::Create(b.getContext(), "fault", frame.function);
  auto* next = llvm::BasicBlock::Create(b.getContext(), "", frame.function);
  b.CreateCondBr(any, note, next, frame.unlikely);
  b.SetInsertPoint(note);
  if (is_vector) {
    Value* first = b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, lanes, b.getTrue());
    index = b.CreateExtractElement(index, b.CreateZExt(first, b.getInt64Ty()));
    index = b.CreateSExt(index, b.getInt64Ty());
  }
  b.CreateCall(frame.record_fault->getFunctionType(), frame.record_fault,
               {frame.fault, b.getInt64(node), b.getInt64(axis), index});
  b.CreateBr(next);
  b.SetInsertPoint(next);
}

Value* emit_gather(Frame& frame, const CaptureLoad& load) {
  const std::uint64_t slot = frame.program.node(load.node).payload;
  const StoredElement element = stored_element(frame.b, frame.program.captures()[slot].dtype);
  Value* offsets = safe_offsets(frame, load);
  Value* stored = gather_elements(frame, frame.captures[slot].data, offsets, element.type);
  return converted(frame, load, element.dtype, stored);
}

namespace {

/// The element offset of lane 0, and whether every lane is inside with `lanes` of them side by
/// side.
struct Span {
  Value* offset;
  Value* fits;
};

Span contiguous_span(Frame& frame, const CaptureLoad& load, const ContiguousLoad& contiguous) {
  Builder& b = frame.b;
  const CaptureValues& capture = frame.captures[frame.program.node(load.node).payload];
  Value* offset = b.getInt64(0);
  Value* fits = b.CreateICmpEQ(capture.strides[contiguous.axis], b.getInt64(1));
  for (std::size_t axis = 0; axis < contiguous.first.size(); ++axis) {
    Value* index = contiguous.first[axis];
    Value* extent = capture.extents[axis];
    if (axis == contiguous.axis) {
      // With step -1 the lowest address belongs to the last lane.
      if (contiguous.step < 0) index = b.CreateSub(index, b.getInt64(frame.lanes - 1));
      Value* room = b.CreateSub(extent, b.getInt64(frame.lanes));
      fits = b.CreateAnd(fits, b.CreateICmpSLE(index, room));
      fits = b.CreateAnd(fits, b.CreateICmpSGE(index, b.getInt64(0)));
    } else {
      index = wrapped(b, index, extent);
      fits = b.CreateAnd(fits, b.CreateICmpULT(index, extent));
    }
    offset = b.CreateAdd(offset, b.CreateMul(index, capture.strides[axis]));
  }
  return {offset, fits};
}

}  // namespace

Value* emit_contiguous_load(Frame& frame, const CaptureLoad& load,
                            const ContiguousLoad& contiguous) {
  Builder& b = frame.b;
  const std::uint64_t slot = frame.program.node(load.node).payload;
  const StoredElement element = stored_element(b, frame.program.captures()[slot].dtype);
  const Span span = contiguous_span(frame, load, contiguous);
  auto* side_by_side = llvm::BasicBlock::Create(b.getContext(), "contiguous", frame.function);
  auto* scattered = llvm::BasicBlock::Create(b.getContext(), "scattered", frame.function);
  auto* next = llvm::BasicBlock::Create(b.getContext(), "", frame.function);
  b.CreateCondBr(span.fits, side_by_side, scattered);

  b.SetInsertPoint(side_by_side);
  Value* address = b.CreateGEP(element.type, frame.captures[slot].data, span.offset);
  Value* stored = b.CreateAlignedLoad(frame.vector_of(element.type), address, llvm::Align(1));
  if (contiguous.step < 0) stored = b.CreateVectorReverse(stored);
  auto* fast_end = b.GetInsertBlock();
  b.CreateBr(next);

  b.SetInsertPoint(scattered);
  Value* offsets = safe_offsets(frame, load);
  Value* gathered = gather_elements(frame, frame.captures[slot].data, offsets, element.type);
  auto* slow_end = b.GetInsertBlock();
  b.CreateBr(next);

  b.SetInsertPoint(next);
  llvm::PHINode* both = b.CreatePHI(stored->getType(), 2);
  both->addIncoming(stored, fast_end);
  both->addIncoming(gathered, slow_end);
  return converted(frame, load, element.dtype, both);
}

}  // namespace tilewright::cpu::jit
