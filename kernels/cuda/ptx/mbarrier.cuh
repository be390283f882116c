// Transaction barriers in shared memory. PTX ISA: "Parallel Synchronization, mbarrier".
#pragma once

#include "ptx/shared_address.cuh"

// A build that hunts a deadlock defines this to a count of retries after which a wait traps; 0
// waits for ever.
#ifndef TILEWRIGHT_WAIT_LIMIT
#define TILEWRIGHT_WAIT_LIMIT 0
#endif

namespace tilewright::cuda::ptx {

/// One 8-byte mbarrier object.
struct Mbarrier {
  SharedAddress address;
};

__device__ __forceinline__ void init(Mbarrier barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier.address.bytes), "r"(arrivals)
               : "memory");
}

/// Makes initialised barriers visible to the asynchronous proxy (the copy engine).
__device__ __forceinline__ void fence_barrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/// Orders ordinary shared-memory writes of this thread before later asynchronous-proxy accesses.
__device__ __forceinline__ void fence_async_shared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void arrive(Mbarrier barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier.address.bytes) : "memory");
}

/// Arrives where `predicate` holds, without a branch: a warp that issues matrix instructions next
/// must not come apart here.
__device__ __forceinline__ void arrive_if(bool predicate, Mbarrier barrier) {
  asm volatile(
      "{ .reg .pred p; setp.ne.u32 p, %1, 0; @p mbarrier.arrive.shared::cta.b64 _, [%0]; }" ::"r"(
          barrier.address.bytes),
      "r"(static_cast<u32>(predicate))
      : "memory");
}

/// Arrives and announces how many bytes of asynchronous copies the phase still has to receive.
__device__ __forceinline__ void arrive_expect_bytes(Mbarrier barrier, u32 bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier.address.bytes),
      "r"(bytes)
      : "memory");
}

/// How long the hardware may suspend a thread that waits, in ns: without it threads that wait for
/// long take issue slots from those that work.
inline constexpr u32 kSuspendNanoseconds = 10'000'000;

/// True once the phase of this parity has completed; the hardware may suspend the thread for a
/// while.
__device__ __forceinline__ bool phase_done(Mbarrier barrier, u32 parity) {
  u32 done;
  asm volatile(
      "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2, %3; "
      "selp.u32 %0, 1, 0, p; }"
      : "=r"(done)
      : "r"(barrier.address.bytes), "r"(parity), "r"(kSuspendNanoseconds)
      : "memory");
  return done != 0;
}

/// The same without suspending the thread.
__device__ __forceinline__ bool phase_done_now(Mbarrier barrier, u32 parity) {
  u32 done;
  asm volatile(
      "{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; "
      "selp.u32 %0, 1, 0, p; }"
      : "=r"(done)
      : "r"(barrier.address.bytes), "r"(parity)
      : "memory");
  return done != 0;
}

__device__ __forceinline__ void wait(Mbarrier barrier, u32 parity) {
  for (u32 tries = 0; !phase_done(barrier, parity); ++tries) {
    if (TILEWRIGHT_WAIT_LIMIT != 0 && tries > TILEWRIGHT_WAIT_LIMIT) __trap();
  }
}

}  // namespace tilewright::cuda::ptx
