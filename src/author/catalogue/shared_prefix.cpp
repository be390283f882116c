#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

namespace tilewright {

MaskMod masks::shared_prefix(Capture ids, Capture starts, Capture prefixes) {
  return [doc = std::move(ids), start = std::move(starts), prefix = std::move(prefixes)](
             Index, Index, Index q, Index kv) -> Value {
    const Index document = doc[q];
    const Index shared = prefix[document];
    const Value own = (kv >= start[document]) & (kv <= q);
    return own | ((shared != document) & (doc[kv] == shared));
  };
}

CatalogueEntry author::shared_prefix_entry() {
  return {
      .name = "shared_prefix",
      .kind = CatalogueKind::kMask,
      .formula = "start[d] <= kv <= q or (prefix[d] != d and doc[kv] == prefix[d]), d = doc[q]",
      .meaning = "Causal documents that also see the whole of the document that is their prefix.",
      .reference = "FlexAttention (Dong et al. 2024); Hydragen (Juravsky et al. 2024)",
      .parameters = {{"n",
                      5,
                      "documents; the first of every three is the prefix of the next two",
                      false,
                      {}}},
      .build = [](const CatalogueRequest& request) {
        const DocumentTables packed = packed_documents(request.problem, count(request, "n"));
        const std::int64_t documents = packed.starts.view().shape[0];
        Table prefixes(DType::kI32, {documents});
        for (std::int64_t d = 0; d < documents; ++d) prefixes.set(d, d - d % 3);
        return mask_of(
            masks::shared_prefix(packed.ids.capture("doc"), packed.starts.capture("start"),
                                 prefixes.capture("prefix")),
            {packed.ids, packed.starts, prefixes});
      }};
}

}  // namespace tilewright
