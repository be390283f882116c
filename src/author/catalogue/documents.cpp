#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

namespace tilewright {

MaskMod masks::documents(Capture ids) {
  return [doc = std::move(ids)](Index, Index, Index q, Index kv) -> Value {
    return doc[q] == doc[kv];
  };
}

CatalogueEntry author::documents_entry() {
  return {.name = "documents",
          .kind = CatalogueKind::kMask,
          .formula = "doc[q] == doc[kv]",
          .meaning = "Packed documents see only themselves, in both directions.",
          .reference = "FlexAttention (Dong et al. 2024)",
          .parameters = {{"n", 4, "documents", false, {}}},
          .build = [](const CatalogueRequest& request) {
            const DocumentTables packed = packed_documents(request.problem, count(request, "n"));
            return mask_of(masks::documents(packed.ids.capture("doc")), {packed.ids});
          }};
}

}  // namespace tilewright
