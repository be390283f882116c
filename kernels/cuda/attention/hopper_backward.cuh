// Attention backward for sm_90a.
//
// Formula    S = Q K^T, T = score_mod(scale S), P = e^(T - lse) where live, else 0; dV = P^T dO,
//            dP = dO V^T, dT = P (dP - delta), dS = dT dT/dS, dK = scale dS^T Q, dQ = scale dS K;
//            delta = rowsum(O dO) - dLSE comes from backward_prepare.cuh, dQ is finished by
//            gradient_finish.cuh.
// Pipeline   one producer warp (and two for turns where additions have a fixed order), two
//            consumer warpgroups, blocks persist. An item is a tile of keys
//            of one key head; all query tiles of all query heads that share it pass by, so dK and
//            dV stay in registers and are written once.
//
//              producer    Q0 K dO0 V  Q1 dO1  Q2 dO2 ...           copy engine, rings of stages
//              consumer 0  P dS | dV dK dQ- S' | dP' P' dS' | ...   64 of 128 keys, or all 64 keys
//              consumer 1       | P dS         | dV dK dQ- S' | ... and half the columns
//
// Tensors    query, key, value, d_out: bf16 or fp16, global, by tensor map; minus_lse, delta fp32,
//            global; d_query_sums fp32, global, by vector additions in memory; d_key, d_value in
//            the element type, global, stored from registers (or fp32 partial results).
// Memory     shared: key and value tile, kQueryStages query, kGradStages dO and four dS tiles (two
//            and two P tiles where keys are not split), rows' numbers, notes, barriers; registers a
//            thread, 128 keys, M queries: dK E/2, dV Ev/2, S and dP M/2 each, P and dS M/4 each, dQ
//            E/4 (M = 128: E/2).
// Barriers   key, value, query, dO full   producer lane 0 and the copied bytes -> consumers   1
//            the same, empty              consumers, a lane per warp -> producer              8
//            item empty                   consumers after their store -> producer             8
//            dS full                      consumers, a lane per warp -> both (keys split)     8
//            named 1                      dS and P are in shared memory (columns split)   256
//            turn come                    a warp that watches -> warpgroup w              1
//            turn used, turn passed       warpgroup w -> a warp that passes -> the former 4, 1
//            named 4, 5                   warpgroup w may issue its products (keys split) 256
// Numbers    S, dP, sums fp32; P and dS are rounded to the element type before their products. Dead
//            pairs are selected away. Rows without live pairs have minus_lse = -inf, so P = 0.
//            dQ's additions come in no fixed order but in deterministic variants.
#pragma once

#include "attention/backward_consume.cuh"
#include "attention/backward_produce.cuh"
#include "attention/query_turns.cuh"
#include "ptx/registers.cuh"

namespace tilewright::cuda {

/// The body of a kernel: an emitted variant wraps it in an extern "C" __global__ function with
/// __launch_bounds__(kThreads, 1). `extension` is given to variants that walk lists or read
/// lengths.
template <class Variant, class Mods, class Gradient>
__device__ __forceinline__ void hopper_backward(const BackwardParams& params,
                                                const typename Mods::Bindings& bindings,
                                                const BackwardExtension* extension = nullptr) {
  using Layout = BackwardLayout<Variant>;
  extern __shared__ __align__(1024) unsigned char memory[];
  const Layout layout{memory};
  const u32 thread = ptx::thread_in_block();
  if (thread == 0) {
    layout.init_barriers();
    ptx::prefetch(&params.query);
    ptx::prefetch(&params.key);
    ptx::prefetch(&params.value);
    ptx::prefetch(&params.d_out);
  }
  ptx::sync_block();

  const u32 role = ptx::broadcast(thread / 128, 0);
  if (role == 0) {
    ptx::shrink_registers<Layout::kProducerRegisters>();
    const u32 warp = ptx::broadcast(thread / 32, 0);
    if (warp == 0) {
      BackwardProducer<Variant, Mods>{params, bindings, layout, thread, extension}.run();
    } else if constexpr (Variant::kDeterministic) {
      const QueryTurns<Variant> turns{params, layout, thread % 32};
      if (warp == 1) turns.await();
      if (warp == 2) turns.pass();
    }
  } else {
    ptx::grow_registers<Layout::kConsumerRegisters>();
    const u32 warpgroup = role - 1;
    BackwardConsumer<Variant, Mods, Gradient>{
        params,
        extension,
        layout,
        warpgroup,
        {params, bindings, FragmentLane::of_thread(), warpgroup},
        {params, layout, warpgroup}}
        .run();
  }
}

}  // namespace tilewright::cuda
