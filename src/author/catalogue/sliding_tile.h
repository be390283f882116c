#pragma once

#include "tilewright/author.h"

namespace tilewright::author {

/// Whether a key's tile lies in the window of k tiles around the query's on an axis of `tiles`
/// tiles. The window has (k - 1) // 2 or k // 2 tiles to the right, the rest to the left, and moves
/// inward at an edge.
Value in_tile_window(const Value& query_tile, const Value& key_tile, const Value& tiles,
                     const Value& k);

}  // namespace tilewright::author
