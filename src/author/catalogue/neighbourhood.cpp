#include "author/catalogue/neighbourhood.h"

namespace tilewright::author {

Value in_neighbourhood(const GridPoint& query, const GridPoint& key, const GridPoint& extent,
                       const Value& k) {
  const Value radius = floor_div(k, 2);
  const Value centre_x = clamp(query.x, radius, extent.x - 1 - radius);
  const Value centre_y = clamp(query.y, radius, extent.y - 1 - radius);
  return (abs(centre_x - key.x) <= radius) & (abs(centre_y - key.y) <= radius);
}

}  // namespace tilewright::author
