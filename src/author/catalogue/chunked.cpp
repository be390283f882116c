#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

namespace tilewright {

MaskMod masks::chunked(Number chunk) {
  return [C = chunk.integer_named("C")](Index, Index, Index q, Index kv) -> Value {
    return (floor_div(q, C) == floor_div(kv, C)) & (kv <= q);
  };
}

CatalogueEntry author::chunked_entry() {
  return {.name = "chunked",
          .kind = CatalogueKind::kMask,
          .formula = "q // C == kv // C and kv <= q",
          .meaning = "Causal inside chunks of C positions that do not see each other.",
          .reference = "Llama 4 chunked attention",
          .parameters = {{"C", 48, "positions of a chunk", false, {}}},
          .build = [](const CatalogueRequest& request) {
            return mask_of(masks::chunked(number(request, "C")));
          }};
}

}  // namespace tilewright
