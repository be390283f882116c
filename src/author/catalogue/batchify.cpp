#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

namespace tilewright {

MaskMod masks::batchify(Number length, MaskMod inner) {
  return [n = length.integer_named("n"), inner = std::move(inner)](Index b, Index h, Index q,
                                                                   Index kv) -> Value {
    const Bool inside = inner(b, h, floor_mod(q, n), floor_mod(kv, n));
    return (floor_div(q, n) == floor_div(kv, n)) & inside;
  };
}

CatalogueEntry author::batchify_entry() {
  return {.name = "batchify",
          .kind = CatalogueKind::kMask,
          .formula = "q // n == kv // n and inner(q % n, kv % n), inner causal",
          .meaning = "Sequences of one length laid end to end, each under the inner mask.",
          .reference = "attention-gym, batchify",
          .parameters = {{"n", 40, "positions of a sequence", false, {}}},
          .build = [](const CatalogueRequest& request) {
            return mask_of(masks::batchify(number(request, "n"), masks::causal()));
          }};
}

}  // namespace tilewright
