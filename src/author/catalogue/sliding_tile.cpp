#include "author/catalogue/sliding_tile.h"

namespace tilewright::author {

Value in_tile_window(const Value& query_tile, const Value& key_tile, const Value& tiles,
                     const Value& k) {
  const Value left = floor_div(k, 2);
  const Value right = floor_div(k - 1, 2);
  const Value centre = clamp(query_tile, left, tiles - 1 - right);
  return (key_tile >= centre - left) & (key_tile <= centre + right);
}

}  // namespace tilewright::author
