#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

#include <algorithm>

namespace tilewright {

MaskMod masks::flamingo(Number image_tokens, Capture low, Capture high) {
  return [T = image_tokens.integer_named("T"), low = std::move(low), high = std::move(high)](
             Index, Index, Index q, Index kv) -> Value {
    const Index image = floor_div(kv, T);
    return (q >= low[image]) & (q < high[image]);
  };
}

CatalogueEntry author::flamingo_entry() {
  return {.name = "flamingo",
          .kind = CatalogueKind::kMask,
          .formula = "low[kv // T] <= q < high[kv // T]",
          .meaning = "Text rows see the tokens of the image that precedes them.",
          .reference = "Alayrac et al. 2022 (Flamingo)",
          .parameters = {{"T", 16, "tokens of an image", false, {}}},
          .build = [](const CatalogueRequest& request) {
            const std::int64_t images =
                positions(request.problem) / std::max<std::int64_t>(count(request, "T"), 1) + 1;
            const DocumentTables text = packed_documents(request.problem, images);
            return mask_of(masks::flamingo(number(request, "T"), text.starts.capture("low"),
                                           text.ends.capture("high")),
                           {text.starts, text.ends});
          }};
}

}  // namespace tilewright
