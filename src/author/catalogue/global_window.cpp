#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

#include <algorithm>

namespace tilewright {

MaskMod masks::global_window(Number radius, Capture global) {
  return [w = radius.integer_named("w"), G = std::move(global)](Index, Index, Index q,
                                                                Index kv) -> Value {
    return (abs(q - kv) <= w) | Bool(G[q]) | Bool(G[kv]);
  };
}

CatalogueEntry author::global_window_entry() {
  return {
      .name = "global_window",
      .kind = CatalogueKind::kMask,
      .formula = "|q - kv| <= w or G[q] or G[kv]",
      .meaning =
          "A window in both directions, and global positions that see all and are seen by all.",
      .reference = "Beltagy et al. 2020 (Longformer)",
      .parameters = {{"w", 32, "greatest distance", false, {}},
                     {"g", 4, "leading positions that are global", false, {}}},
      .build = [](const CatalogueRequest& request) {
        Table global(DType::kBool, {positions(request.problem)});
        for (std::int64_t i = 0; i < std::min(count(request, "g"), positions(request.problem)); ++i)
          global.set(i, std::int64_t{1});
        return mask_of(masks::global_window(number(request, "w"), global.capture("G")), {global});
      }};
}

}  // namespace tilewright
