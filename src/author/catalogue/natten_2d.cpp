#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

#include "author/catalogue/neighbourhood.h"

namespace tilewright {

MaskMod masks::natten_2d(Number width, Number height, Number kernel) {
  return [W = width.integer_named("W"), H = height.integer_named("H"),
          k = kernel.integer_named("k")](Index, Index, Index q, Index kv) -> Value {
    const author::GridPoint query{floor_mod(q, W), floor_div(q, W)};
    const author::GridPoint key{floor_mod(kv, W), floor_div(kv, W)};
    return author::in_neighbourhood(query, key, {W, H}, k);
  };
}

CatalogueEntry author::natten_2d_entry() {
  return {.name = "natten_2d",
          .kind = CatalogueKind::kMask,
          .formula =
              "c = clamp(query, k // 2, extent - 1 - k // 2) per axis, |c - key| <= k // 2 on both "
              "axes",
          .meaning = "Neighbourhood attention on a W x H grid stored row by row.",
          .reference = "Hassani et al. 2023 (Neighborhood Attention)",
          .parameters = {{"W", 8, "width of the grid", false,
                          [](const Problem& problem) {
                            return static_cast<double>(author::grid_edge(problem));
                          }},
                         {"H", 8, "height of the grid", false,
                          [](const Problem& problem) {
                            return static_cast<double>(author::grid_edge(problem));
                          }},
                         {"k", 5, "edge of the window", false, {}}},
          .build = [](const CatalogueRequest& request) {
            return mask_of(
                masks::natten_2d(number(request, "W"), number(request, "H"), number(request, "k")));
          }};
}

}  // namespace tilewright
