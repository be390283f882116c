// Attention forward for sm_90a.
//
// Formula    S = Q K^T, T = score_mod(scale S) where mask_mod holds, else -inf, O = softmax(T) V,
// lse = ln sum e^T. Pipeline   one producer warpgroup (one warp works), kWarpgroups consumers of 64
// query rows each, blocks persist:
//
//              producer      K0 Q  K1 V0  K2 V1  ...  V(last) K0' Q'  ...            copy engine,
//              rings of stages consumer 0    QK1 PV0 | softmax 1      | QK2 PV1 | softmax 2      |
//              products and softmax of one tile overlap, consumer 1    softmax 0      | QK1 PV0 |
//              softmax 1      | QK2 PV1 |   and so do those of two warpgroups
//
// Tensors    query [B, Hq, Q, E], key [Bkv, Hkv, KV, E], value [Bkv, Hkv, KV, Ev]: bf16 or fp16,
// global, by tensor map;
//            out [slot, B, Hq, Q, Ev] same type, lse and max_scores [slot, B, Hq, Q] fp32, global,
//            stored from registers.
// Memory     shared: 64 kWarpgroups kQueryStages E' + kKeyTile (kKeyStages E' + kValueStages Ev')
// 16-bit elements (E', Ev' the
//            next multiples of 64), notes and barriers; registers: score kKeyTile/2, out Ev/2,
//            probability kKeyTile/4 a thread.
// Barriers   key full     producer lane 0 and the copied bytes -> consumers          1 arrival
//            key empty    consumers, a lane per warp            -> producer          4 kWarpgroups
//            value        the same two
//            query full/empty, a pair per warpgroup                                  1 / 4
//            item empty   consumers after their store           -> producer          4 kWarpgroups
//            named 1..3   turn of warpgroup w; the one before it passes, w waits     256 threads
//            named next  warpgroup w alone, when a tile is done again                128 threads
// Numbers    scores and sums fp32; P is rounded to the element type before PV, the row sum is not;
// the reference of the exponent
//            may lag the maximum by 2^8 (online_softmax.cuh); a row without live pairs gives 0 and
//            -inf by selection.
#pragma once

#include "attention/forward_consume.cuh"
#include "attention/forward_produce.cuh"
#include "ptx/registers.cuh"

namespace tilewright::cuda {

/// The body of a kernel: an emitted variant wraps it in an extern "C" __global__ function with
/// __launch_bounds__(kThreads, 1).
template <class Variant, class Mods>
__device__ __forceinline__ void hopper_forward(const ForwardParams& params,
                                               const typename Mods::Bindings& bindings) {
  using Layout = ForwardLayout<Variant>;
  extern __shared__ __align__(1024) unsigned char memory[];
  const Layout layout{memory};
  const u32 thread = ptx::thread_in_block();
  if (thread == 0) {
    layout.init_barriers();
    ptx::prefetch(&params.query);
    ptx::prefetch(&params.key);
    ptx::prefetch(&params.value);
  }
  ptx::sync_block();

  const u32 role = ptx::broadcast(thread / 128, 0);
  if (role == 0) {
    ptx::shrink_registers<Layout::kProducerRegisters>();
    if (thread < 32) ForwardProducer<Variant, Mods>{params, bindings, layout, thread}.run();
  } else {
    ptx::grow_registers<Layout::kConsumerRegisters>();
    const u32 warpgroup = role - 1;
    const ptx::NamedBarrier alone = {1 + Layout::kWarpgroups + warpgroup, 128};
    const TileSoftmax<Variant, Mods> softmax = {params, bindings, FragmentLane::of_thread()};
    ForwardConsumer<Variant, Mods>{
        params, layout, warpgroup, {warpgroup}, {layout.alarms(warpgroup), alone}, softmax}
        .run();
  }
}

}  // namespace tilewright::cuda
