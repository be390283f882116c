#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

namespace tilewright {

MaskMod masks::jetspec_tree(Number prefix, Capture ancestor) {
  return [p = prefix.integer_named("p"), ancestor = std::move(ancestor)](Index, Index, Index q,
                                                                         Index kv) -> Value {
    // Before the tree the table has no column: the subscript is not reached there.
    if (kv < p) return true;
    return ancestor(q, kv - p);
  };
}

CatalogueEntry author::jetspec_tree_entry() {
  return {.name = "jetspec_tree",
          .kind = CatalogueKind::kMask,
          .formula = "kv < p or ancestor[q, kv - p]",
          .meaning =
              "A drafted tree of tokens behind a cached prefix of p: a node sees the prefix and "
              "its ancestors.",
          .reference = "JetSpec; Miao et al. 2024 (SpecInfer)",
          .parameters = {{"p", 16, "positions of the prefix", false, {}}},
          .build = [](const CatalogueRequest& request) {
            const Table tree = ancestors(positions(request.problem));
            return mask_of(masks::jetspec_tree(number(request, "p"), tree.capture("ancestor")),
                           {tree});
          }};
}

}  // namespace tilewright
