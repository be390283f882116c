#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

namespace tilewright {

MaskMod masks::transfusion(Capture spans) {
  return [span = std::move(spans)](Index, Index, Index q, Index kv) -> Value {
    const Index query_span = span[q];
    return (kv <= q) | ((query_span == span[kv]) & (query_span >= 0));
  };
}

CatalogueEntry author::transfusion_entry() {
  return {.name = "transfusion",
          .kind = CatalogueKind::kMask,
          .formula = "kv <= q or (span[q] == span[kv] and span[q] >= 0)",
          .meaning = "Causal, and images see themselves in both directions.",
          .reference = "Zhou et al. 2024 (Transfusion); PaliGemma (Beyer et al. 2024)",
          .parameters = {{"n", 6, "spans; every other one is an image", false, {}}},
          .build = [](const CatalogueRequest& request) {
            Table spans = part_ids(request.problem, count(request, "n"));
            const auto* ids = static_cast<const std::int32_t*>(spans.view().data);
            for (std::int64_t i = 0; i < spans.view().shape[0]; ++i)
              if (ids[i] % 2 == 0) spans.set(i, std::int64_t{-1});
            return mask_of(masks::transfusion(spans.capture("span")), {spans});
          }};
}

}  // namespace tilewright
