#pragma once

#include "tilewright/author.h"

namespace tilewright::author {

/// A place on a grid.
struct GridPoint {
  Value x;
  Value y;
};

/// Whether a key lies in the k x k window around a query on a W x H grid; at an edge the window
/// moves inward and keeps its size.
Value in_neighbourhood(const GridPoint& query, const GridPoint& key, const GridPoint& extent,
                       const Value& k);

}  // namespace tilewright::author
