#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

#include <algorithm>

namespace tilewright {

MaskMod masks::padded_lengths(Capture lengths) {
  return [len = std::move(lengths)](Index b, Index, Index q, Index kv) -> Value {
    return (q < len[b]) & (kv < len[b]);
  };
}

CatalogueEntry author::padded_lengths_entry() {
  return {
      .name = "padded_lengths",
      .kind = CatalogueKind::kMask,
      .formula = "q < len[b] and kv < len[b]",
      .meaning =
          "Neither keys nor queries past a sequence's own length count; such rows are empty.",
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
        return mask_of(masks::padded_lengths(lengths.capture("len")), {lengths});
      }};
}

}  // namespace tilewright
