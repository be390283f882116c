#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

#include <bit>

#include "author/catalogue/neighbourhood.h"

namespace tilewright {

namespace {

/// Bits 0, 2, 4, ... of a position below 2^32, moved together.
Value even_bits(const Value& position) {
  Value bits = position & 0x55555555;
  bits = (bits | (bits >> 1)) & 0x33333333;
  bits = (bits | (bits >> 2)) & 0x0f0f0f0f;
  bits = (bits | (bits >> 4)) & 0x00ff00ff;
  return (bits | (bits >> 8)) & 0x0000ffff;
}

std::int64_t square_edge(const Problem& problem) {
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(author::grid_edge(problem))));
}

}  // namespace

MaskMod masks::morton_natten(Number width, Number height, Number kernel) {
  return [W = width.integer_named("W"), H = height.integer_named("H"),
          k = kernel.integer_named("k")](Index, Index, Index q, Index kv) -> Value {
    const author::GridPoint query{even_bits(q), even_bits(q >> 1)};
    const author::GridPoint key{even_bits(kv), even_bits(kv >> 1)};
    return author::in_neighbourhood(query, key, {W, H}, k);
  };
}

CatalogueEntry author::morton_natten_entry() {
  return {.name = "morton_natten",
          .kind = CatalogueKind::kMask,
          .formula = "natten_2d after (x, y) = even and odd bits of the position",
          .meaning = "Neighbourhood attention on a grid stored in Z order.",
          .reference = "attention-gym, Morton NATTEN",
          .parameters =
              {{"W", 8, "width of the grid", false,
                [](const Problem& problem) { return static_cast<double>(square_edge(problem)); }},
               {"H", 8, "height of the grid", false,
                [](const Problem& problem) { return static_cast<double>(square_edge(problem)); }},
               {"k", 5, "edge of the window", false, {}}},
          .build = [](const CatalogueRequest& request) {
            return mask_of(masks::morton_natten(number(request, "W"), number(request, "H"),
                                                number(request, "k")));
          }};
}

}  // namespace tilewright
