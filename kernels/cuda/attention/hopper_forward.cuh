// Attention forward for sm_90a.
//
// Formula   S = Q K^T, T = score_mod(scale S) where mask_mod holds, else -inf, O = softmax(T) V,
//           lse = ln sum e^T.
//
// Pipeline  blocks persist; one producer warpgroup, kWarpgroups consumers of 64 query rows each.
//
//     planning warp    items and the classes of their key tiles, up to kPlanSlots tiles ahead
//     copying threads  K0 | K1 V0 | K2 V1 | ... without a seam between items, and Q as room comes
//     consumer 0       QK1 PV0 | softmax 1       | QK2 PV1 | softmax 2       |
//     consumer 1       softmax 0       | QK1 PV0 | softmax 1       | QK2 PV1 |
//
//           Products and softmax of one tile overlap, and so do those of two warpgroups.
//
// Tensors   query [B, Hq, Q, E], key [Bkv, Hkv, KV, E], value [Bkv, Hkv, KV, Ev]: bf16 or fp16, by
//           tensor map. out [slot, B, Hq, Q, Ev] of the same type, by way of the query's stage
//           where it fits; lse and max_scores [slot, B, Hq, Q] fp32, from registers.
//
// Memory    shared, with E' and Ev' the next multiples of 64, in 16-bit elements:
//           64 kWarpgroups kQueryStages E' + kKeyTile (kKeyStages E' + kValueStages Ev'),
//           then items, notes, plans and barriers.
//           Registers a thread: scores kKeyTile / 2, out Ev / 2, probabilities kKeyTile / 4.
//
// Barriers, with the number of arrivals (W: kWarpgroups)
//           plan full, empty   planning warp <-> key copier                        1, 1
//           item full          planning warp -> query copier                       1
//           item empty         consumers after their store -> planning warp        4 W
//           key full           copier and the copied bytes -> consumers            1
//           key empty          consumers, a lane per warp -> copier                4 W
//           value              the same two
//           query full, empty  a pair per warpgroup                                1, 4
//           named 1..3         turn of a warpgroup; the one before it passes       256 threads
//           named, the next    a warpgroup alone, when a tile is done again        128 threads
//
// Notes     All lanes read what a stage's note says; a barrier that all of them pass comes before
// one
//           lane's arrival for the warp, that before the copier's wait, that before the next note.
//           An item's slot is released likewise. Tools that credit an arrival to the arriving
//           thread alone see a race there; with TILEWRIGHT_NOTES_BY_ONE_LANE, a little slower,
//           that lane reads the note and hands it to the others.
//
// Numbers   Scores and sums fp32; P is rounded to the element type before PV, the row sum is not.
//           The reference of the exponent may lag the maximum by 2^8 (online_softmax.cuh). A row
//           without live pairs gives 0 and -inf by selection.
#pragma once

#include "attention/forward_consume.cuh"
#include "attention/forward_copy.cuh"
#include "attention/forward_plan.cuh"
#include "ptx/registers.cuh"

namespace tilewright::cuda {

/// The body of a kernel: an emitted variant wraps it in an extern "C" __global__ function with
/// __launch_bounds__(kThreads, 1). `extension` is given to variants
/// that walk lists or read lengths.
template <class Variant, class Mods>
__device__ __forceinline__ void hopper_forward(const ForwardParams& params,
                                               const typename Mods::Bindings& bindings,
                                               const ForwardExtension* extension = nullptr) {
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
    if (thread == 0) KeyValueCopier<Variant>{params, layout, extension}.run();
    if (thread == 32) QueryCopier<Variant>{params, layout}.run();
    if (thread / 32 == 2) {
      ForwardPlanner<Variant, Mods>{params, bindings, layout, thread % 32, extension}.run();
    }
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
