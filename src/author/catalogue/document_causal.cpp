#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

namespace tilewright {

MaskMod masks::per_document(Capture ids, Capture starts, MaskMod inner) {
  return [doc = std::move(ids), start = std::move(starts), inner = std::move(inner)](
             Index b, Index h, Index q, Index kv) -> Value {
    const Index query_document = doc[q];
    const Index key_document = doc[kv];
    const Bool inside = inner(b, h, q - start[query_document], kv - start[key_document]);
    return (query_document == key_document) & inside;
  };
}

CatalogueEntry author::document_causal_entry() {
  return {.name = "document_causal",
          .kind = CatalogueKind::kMask,
          .formula =
              "doc[q] == doc[kv] and inner(q - start[doc[q]], kv - start[doc[kv]]), inner causal",
          .meaning = "Packed documents, each under a mask of its own positions.",
          .reference = "FlexAttention (Dong et al. 2024)",
          .parameters = {{"n", 4, "documents", false, {}}},
          .build = [](const CatalogueRequest& request) {
            const DocumentTables packed = packed_documents(request.problem, count(request, "n"));
            return mask_of(masks::per_document(packed.ids.capture("doc"),
                                               packed.starts.capture("start"), masks::causal()),
                           {packed.ids, packed.starts});
          }};
}

}  // namespace tilewright
