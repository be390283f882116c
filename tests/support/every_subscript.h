#pragma once

#include "support/entry.h"

namespace tilewright::cases {

/// Captures under each structure of subscripts: of the tile, the row, the column, q - kv, dense,
/// gathered through another tensor; one read twice, one under a condition, one never.
Program every_subscript(EntryContext& context);

}  // namespace tilewright::cases
