// Fixed-width integers without a standard header: NVRTC compiles kernels that include nothing from
// outside kernels/cuda.
#pragma once

namespace tilewright::cuda {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i32 = int;
using i64 = long long;

static_assert(sizeof(u16) == 2 && sizeof(u32) == 4 && sizeof(u64) == 8);

}  // namespace tilewright::cuda
