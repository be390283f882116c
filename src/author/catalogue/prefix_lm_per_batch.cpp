#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

namespace tilewright {

MaskMod masks::prefix_lm_per_batch(Capture prefixes) {
  return [P = std::move(prefixes)](Index b, Index, Index q, Index kv) -> Value {
    return (kv < P[b]) | (kv <= q);
  };
}

CatalogueEntry author::prefix_lm_per_batch_entry() {
  return {.name = "prefix_lm_per_batch",
          .kind = CatalogueKind::kMask,
          .formula = "kv < P[b] or kv <= q",
          .meaning = "A prefix of its own length for each sequence of the batch.",
          .reference = "Raffel et al. 2020 (T5), prefix LM",
          .parameters =
              {{"p", 16, "prefix of the first sequence; each next one is 8 longer", false, {}}},
          .build = [](const CatalogueRequest& request) {
            Table prefixes(DType::kI32, {request.problem.batch});
            for (std::int64_t b = 0; b < request.problem.batch; ++b)
              prefixes.set(b, count(request, "p") + 8 * b);
            return mask_of(masks::prefix_lm_per_batch(prefixes.capture("P")), {prefixes});
          }};
}

}  // namespace tilewright
