// Tensors beside the operands, whose dtype and strides the caller chooses: read and written an
// element at a time.
#pragma once

#include "ptx/global_memory.cuh"
#include "ptx/numbers.cuh"

namespace tilewright::cuda {

enum class FloatKind : i32 { kF64 = 0, kF32 = 1, kF16 = 2, kBf16 = 3 };

__device__ __forceinline__ float load_float(const void* base, FloatKind kind, i64 index) {
  switch (kind) {
    case FloatKind::kF64:
      return static_cast<float>(static_cast<const double*>(base)[index]);
    case FloatKind::kF32:
      return static_cast<const float*>(base)[index];
    case FloatKind::kF16:
      return ptx::to_float(F16{}, ptx::load(static_cast<const u16*>(base) + index));
    case FloatKind::kBf16:
      break;
  }
  return ptx::to_float(Bf16{}, ptx::load(static_cast<const u16*>(base) + index));
}

__device__ __forceinline__ void store_float(void* base, FloatKind kind, i64 index, float value) {
  switch (kind) {
    case FloatKind::kF64:
      static_cast<double*>(base)[index] = value;
      return;
    case FloatKind::kF32:
      static_cast<float*>(base)[index] = value;
      return;
    case FloatKind::kF16:
      return ptx::store(static_cast<u16*>(base) + index,
                        static_cast<u16>(ptx::pack(F16{}, value, 0.0f) & 0xffffu));
    case FloatKind::kBf16:
      break;
  }
  ptx::store(static_cast<u16*>(base) + index,
             static_cast<u16>(ptx::pack(Bf16{}, value, 0.0f) & 0xffffu));
}

}  // namespace tilewright::cuda
