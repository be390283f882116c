#include "c_abi_guard.h"
#include "c_abi_handles.h"
#include "c_abi_structs.h"
#include "tilewright/c.h"

using namespace tilewright::c_abi;  // NOLINT: this file is the interface itself

tw_status tw_mask_map_build(const tw_program* program, const tw_mask_map_options* options,
                            tw_mask_map** map) {
  return guard([&] {
    required(map, "map") = nullptr;
    *map = new tw_mask_map{tilewright::MaskMap::build(required(program, "program").program,
                                                      options_of(sized_copy(options, "options")))};
  });
}

void tw_mask_map_destroy(tw_mask_map* map) { delete map; }

tw_status tw_mask_map_counts(const tw_mask_map* map, int64_t kv_block, tw_mask_counts* counts) {
  return guard([&] {
    constexpr int64_t kDefaultBlock = 128;
    const tilewright::MaskMap& built = required(map, "map").map;
    const auto tiles =
        built.count_tiles(built.options().q_block, kv_block > 0 ? kv_block : kDefaultBlock);
    sized_write(tw_mask_counts{.struct_bytes = 0,
                               .live_pairs = built.live_pairs(),
                               .tiles_empty = tiles.empty,
                               .tiles_partial = tiles.partial,
                               .tiles_full = tiles.full,
                               .spans = built.span_count(),
                               .blocks_over_budget = built.blocks_over_budget(),
                               .bytes = built.bytes()},
                counts, "counts");
  });
}
