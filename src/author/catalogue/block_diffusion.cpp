#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

#include <algorithm>

namespace tilewright {

MaskMod masks::block_diffusion(Number block, Number length) {
  return [S = block.integer_named("S"), L = length.integer_named("L")](Index, Index, Index q,
                                                                       Index kv) -> Value {
    const Bool query_clean = q >= L;
    const Bool key_clean = kv >= L;
    const Index query_block = floor_div(select(query_clean, q - L, q), S);
    const Index key_block = floor_div(select(key_clean, kv - L, kv), S);
    const Value own = (query_clean == key_clean) & (query_block == key_block);
    const Value to_clean = ~query_clean & key_clean & (key_block < query_block);
    const Value among_clean = query_clean & key_clean & (key_block <= query_block);
    return own | to_clean | among_clean;
  };
}

CatalogueEntry author::block_diffusion_entry() {
  return {.name = "block_diffusion",
          .kind = CatalogueKind::kMask,
          .formula =
              "2 L positions, the first L noised, blocks of S: own block; noised to earlier clean "
              "blocks; clean to clean, block causal",
          .meaning =
              "Training mask of block diffusion: noised blocks see themselves and the clean past.",
          .reference = "Arriola et al. 2025 (Block Diffusion)",
          .parameters = {{"S", 8, "positions of a block", false, {}},
                         {"L", 64, "noised positions", false,
                          [](const Problem& problem) {
                            return static_cast<double>(
                                std::max<std::int64_t>(author::positions(problem) / 2, 1));
                          }}},
          .build = [](const CatalogueRequest& request) {
            return mask_of(masks::block_diffusion(number(request, "S"), number(request, "L")));
          }};
}

}  // namespace tilewright
