#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

namespace tilewright {

MaskMod masks::dialogue(Capture turns) {
  return [turn = std::move(turns)](Index, Index, Index q, Index kv) -> Value {
    return turn[kv] <= turn[q];
  };
}

CatalogueEntry author::dialogue_entry() {
  return {
      .name = "dialogue",
      .kind = CatalogueKind::kMask,
      .formula = "turn[kv] <= turn[q]",
      .meaning = "A turn of a conversation sees itself in both directions and every earlier turn.",
      .reference = "turn-wise attention of dialogue models",
      .parameters = {{"n", 6, "turns", false, {}}},
      .build = [](const CatalogueRequest& request) {
        const Table turns = part_ids(request.problem, count(request, "n"));
        return mask_of(masks::dialogue(turns.capture("turn")), {turns});
      }};
}

}  // namespace tilewright
