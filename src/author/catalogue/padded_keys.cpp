#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

#include <algorithm>

namespace tilewright {

MaskMod masks::padded_keys(Capture lengths) {
  return
      [len = std::move(lengths)](Index b, Index, Index, Index kv) -> Value { return kv < len[b]; };
}

CatalogueEntry author::padded_keys_entry() {
  return {
      .name = "padded_keys",
      .kind = CatalogueKind::kMask,
      .formula = "kv < len[b]",
      .meaning = "Keys past a sequence's own length are not seen.",
      .reference = "padded batches",
      .parameters =
          {{"s", 16, "each sequence is s shorter than the one before, the first s / 2", false, {}}},
      .build = [](const CatalogueRequest& request) {
        Table lengths(DType::kI32, {request.problem.batch});
        for (std::int64_t b = 0; b < request.problem.batch; ++b)
          lengths.set(
              b, std::max<std::int64_t>(
                     positions(request.problem) - count(request, "s") * b - count(request, "s") / 2,
                     0));
        return mask_of(masks::padded_keys(lengths.capture("len")), {lengths});
      }};
}

}  // namespace tilewright
