#pragma once

#include <span>
#include <vector>

#include "tilewright/mask_map.h"

namespace tilewright::analyse {

/// Sorts ranges and joins those that touch.
void join(std::vector<TokenRange>& ranges);

/// What two sorted lists of disjoint ranges share.
std::vector<TokenRange> shared_by(std::span<const TokenRange> a, std::span<const TokenRange> b);

/// The keys of spans, or of the full ones only.
std::vector<TokenRange> keys_of(std::span<const Span> spans, bool only_full);

/// Class of a key range as sorted spans tell it: full where full spans cover it, empty where none
/// meets it.
TileClass class_in_spans(std::span<const Span> spans, TokenRange kv);

}  // namespace tilewright::analyse
