#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

namespace tilewright {

MaskMod masks::jagged(Capture sequences, Capture offsets, MaskMod inner) {
  return per_document(std::move(sequences), std::move(offsets), std::move(inner));
}

CatalogueEntry author::jagged_entry() {
  return {
      .name = "jagged",
      .kind = CatalogueKind::kMask,
      .formula =
          "seq[q] == seq[kv] and inner(q - offset[seq[q]], kv - offset[seq[kv]]), inner a window "
          "of W",
      .meaning =
          "Sequences of a nested tensor laid end to end, each under a mask of its own positions.",
      .reference = "PyTorch create_nested_block_mask",
      .parameters = {{"n", 4, "sequences", false, {}},
                     {"W", 16, "keys that a query sees, itself included", false, {}}},
      .build = [](const CatalogueRequest& request) {
        const DocumentTables packed = packed_documents(request.problem, count(request, "n"));
        return mask_of(masks::jagged(packed.ids.capture("seq"), packed.starts.capture("offset"),
                                     masks::window(number(request, "W"))),
                       {packed.ids, packed.starts});
      }};
}

}  // namespace tilewright
