#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

namespace tilewright {

MaskMod masks::packed_causal(Capture ids, Capture starts) {
  return
      [doc = std::move(ids), start = std::move(starts)](Index, Index, Index q, Index kv) -> Value {
        return (kv >= start[doc[q]]) & (kv <= q);
      };
}

CatalogueEntry author::packed_causal_entry() {
  return {.name = "packed_causal",
          .kind = CatalogueKind::kMask,
          .formula = "start[doc[q]] <= kv <= q",
          .meaning = "Packed causal documents as one interval of keys a row.",
          .reference = "FlexAttention (Dong et al. 2024)",
          .parameters = {{"n", 4, "documents", false, {}}},
          .build = [](const CatalogueRequest& request) {
            const DocumentTables packed = packed_documents(request.problem, count(request, "n"));
            return mask_of(
                masks::packed_causal(packed.ids.capture("doc"), packed.starts.capture("start")),
                {packed.ids, packed.starts});
          }};
}

}  // namespace tilewright
