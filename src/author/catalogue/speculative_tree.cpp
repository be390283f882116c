#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

#include <algorithm>

namespace tilewright {

MaskMod masks::speculative_tree(Number prefix, Capture ancestor) {
  return [p = prefix.integer_named("p"), ancestor = std::move(ancestor)](Index, Index, Index q,
                                                                         Index kv) -> Value {
    if (kv > q) return false;
    if (kv < p) return true;
    // Here p <= kv <= q: both subscripts are nodes of the tree.
    return ancestor(q - p, kv - p);
  };
}

CatalogueEntry author::speculative_tree_entry() {
  return {
      .name = "speculative_tree",
      .kind = CatalogueKind::kMask,
      .formula = "kv <= q and (kv < p or ancestor[q - p, kv - p])",
      .meaning = "A causal prefix of p tokens and a tree of drafts behind it in the same sequence.",
      .reference = "Miao et al. 2024 (SpecInfer); Cai et al. 2024 (Medusa)",
      .parameters = {{"p", 16, "positions of the prefix", false, {}}},
      .build = [](const CatalogueRequest& request) {
        const std::int64_t nodes =
            std::max<std::int64_t>(positions(request.problem) - count(request, "p"), 1);
        const Table tree = ancestors(nodes);
        return mask_of(masks::speculative_tree(number(request, "p"), tree.capture("ancestor")),
                       {tree});
      }};
}

}  // namespace tilewright
