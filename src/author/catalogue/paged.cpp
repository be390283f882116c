#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

#include <algorithm>

namespace tilewright {

MaskMod masks::paged(Number page, Capture logical, MaskMod inner) {
  return [s = page.integer_named("s"), logical = std::move(logical), inner = std::move(inner)](
             Index b, Index h, Index q, Index kv) -> Value {
    const Index logical_page = logical[floor_div(kv, s)];
    // A free page has no positions: what the inner mask subscripts is not reached there.
    if (logical_page < 0) return false;
    return inner(b, h, q, logical_page * s + floor_mod(kv, s));
  };
}

CatalogueEntry author::paged_entry() {
  return {
      .name = "paged",
      .kind = CatalogueKind::kMask,
      .formula = "logical[kv // s] >= 0 and inner(q, logical[kv // s] * s + kv % s), inner causal",
      .meaning = "Keys stored in pages of any order: the mask is that of their logical positions.",
      .reference = "Kwon et al. 2023 (PagedAttention)",
      .parameters = {{"s", 16, "positions of a page", false, {}}},
      .build = [](const CatalogueRequest& request) {
        const std::int64_t page = std::max<std::int64_t>(count(request, "s"), 1);
        const std::int64_t pages = (positions(request.problem) + page - 1) / page;
        Table logical(DType::kI32, {pages});
        // Every seventh page is free, the rest hold the sequence from its end to its start.
        for (std::int64_t i = 0; i < pages; ++i)
          logical.set(i, i % 7 == 6 ? std::int64_t{-1} : pages - 1 - i);
        return mask_of(
            masks::paged(number(request, "s"), logical.capture("logical"), masks::causal()),
            {logical});
      }};
}

}  // namespace tilewright
