#pragma once

#include "backends/cpu/row_tile.h"

namespace tilewright::cpu {

/// Normalises rows and writes out, lse and max_scores (semantics R4, R5). `state` has rows of all
/// heads of the item.
void finish_rows(const ForwardCall& call, const ForwardLayout& layout, const WorkItem& item,
                 const RowState& state);

/// The arrays of a partial in a slot of the workspace.
RowState partial_state(const ForwardLayout& layout, char* slot);

/// Copies rows to a partial.
void store_partial(const ForwardLayout& layout, std::int64_t rows, const RowState& from,
                   const RowState& to);

/// Adds `part` to `into`, both unnormalised; order matters to the last bit only, so callers keep
/// key order.
void merge_partial(const ForwardCall& call, const ForwardLayout& layout, std::int64_t rows,
                   const RowState& part, const RowState& into);

}  // namespace tilewright::cpu
