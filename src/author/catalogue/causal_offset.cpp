#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

#include <algorithm>

namespace tilewright {

MaskMod masks::causal_offset(Number offset) {
  return [o = offset.integer_named("o")](Index, Index, Index q, Index kv) -> Value {
    return kv <= q + o;
  };
}

MaskMod masks::causal_offset(Capture offset) {
  return [o = std::move(offset)](Index, Index, Index q, Index kv) -> Value { return kv <= q + o; };
}

CatalogueEntry author::causal_offset_entry() {
  return {.name = "causal_offset",
          .kind = CatalogueKind::kMask,
          .formula = "kv <= q + o",
          .meaning = "Causal for queries that continue a cache of o positions.",
          .reference = "decoding with a cache; PyTorch gpt-fast",
          .parameters = {{"o", 0, "positions before the first query", false,
                          [](const Problem& problem) {
                            return static_cast<double>(
                                std::max<std::int64_t>(problem.kv_len - problem.q_len, 0));
                          }}},
          .build = [](const CatalogueRequest& request) {
            return mask_of(masks::causal_offset(number(request, "o")));
          }};
}

}  // namespace tilewright
