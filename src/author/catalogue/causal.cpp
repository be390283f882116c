#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

namespace tilewright {

MaskMod masks::causal() {
  return [](Index, Index, Index q, Index kv) -> Value { return kv <= q; };
}

CatalogueEntry author::causal_entry() {
  return {.name = "causal",
          .kind = CatalogueKind::kMask,
          .formula = "kv <= q",
          .meaning = "Each query sees itself and every earlier position.",
          .reference = "Vaswani et al. 2017, section 3.2.3",
          .parameters = {},
          .build = [](const CatalogueRequest&) { return mask_of(masks::causal()); }};
}

}  // namespace tilewright
