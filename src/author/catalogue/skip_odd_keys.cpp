#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

namespace tilewright {

MaskMod masks::skip_odd_keys() {
  return [](Index, Index, Index, Index kv) -> Value { return floor_mod(kv, 2) == 0; };
}

CatalogueEntry author::skip_odd_keys_entry() {
  return {.name = "skip_odd_keys",
          .kind = CatalogueKind::kMask,
          .formula = "kv % 2 == 0",
          .meaning = "Every other key: no tile is empty and none is full.",
          .reference = "PyTorch test_flex_attention",
          .parameters = {},
          .build = [](const CatalogueRequest&) { return mask_of(masks::skip_odd_keys()); }};
}

}  // namespace tilewright
