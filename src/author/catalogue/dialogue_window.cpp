#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

namespace tilewright {

MaskMod masks::dialogue_window(Capture turns, Number last_turns) {
  return [turn = std::move(turns), n = last_turns.integer_named("n")](Index, Index, Index q,
                                                                      Index kv) -> Value {
    return (kv <= q) & (turn[q] - turn[kv] < n);
  };
}

CatalogueEntry author::dialogue_window_entry() {
  return {.name = "dialogue_window",
          .kind = CatalogueKind::kMask,
          .formula = "kv <= q and turn[q] - turn[kv] < n",
          .meaning = "Causal over the last n turns of a conversation, the current one included.",
          .reference = "turn-wise attention of dialogue models",
          .parameters = {{"n", 2, "turns that a query sees, its own included", false, {}},
                         {"turns", 6, "turns of the conversation", false, {}}},
          .build = [](const CatalogueRequest& request) {
            const Table turns = part_ids(request.problem, count(request, "turns"));
            return mask_of(masks::dialogue_window(turns.capture("turn"), number(request, "n")),
                           {turns});
          }};
}

}  // namespace tilewright
