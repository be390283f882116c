#pragma once

#include <vector>

#include "tilewright/author.h"
#include "tilewright/program.h"
#include "tilewright/table.h"

#pragma GCC visibility push(default)

/// Ready mask mods: true where query position q may see key position kv. They compose before they
/// are traced. Numbers are named after the formula's letter, so a prepared attention rebinds them
/// by that letter; give a Number of another name where two masks of one program share a letter.
namespace tilewright::masks {

/// kv <= q
MaskMod causal();
/// kv <= q + offset, for queries that continue a cache. `offset` has rank 0 or is a number.
MaskMod causal_offset(Number offset);
MaskMod causal_offset(Capture offset);
/// 0 <= q - kv < W: each query sees W keys, itself included.
MaskMod window(Number keys);
/// 0 <= q - kv <= w: w keys back and itself, so w + 1 keys (FlexAttention's convention).
MaskMod window_inclusive(Number keys_back);
/// |q - kv| <= w and |q - kv| % d == 0, in both directions.
MaskMod dilated_window(Number radius, Number dilation);
/// |q - kv| <= w or G[q] or G[kv]; `global` is bool [positions].
MaskMod global_window(Number radius, Capture global);
/// kv < p or kv <= q
MaskMod prefix_lm(Number prefix);
/// kv < P[b] or kv <= q; `prefixes` is integer [B].
MaskMod prefix_lm_per_batch(Capture prefixes);
/// q // C == kv // C and kv <= q
MaskMod chunked(Number chunk);

/// doc[q] == doc[kv]; `ids` is integer [positions]. Ascending ids are found to be ranges.
MaskMod documents(Capture ids);
/// doc[q] == doc[kv] and inner(q - start[doc q], kv - start[doc kv])
MaskMod per_document(Capture ids, Capture starts, MaskMod inner);
/// start[doc[q]] <= kv <= q: one interval a row.
MaskMod packed_causal(Capture ids, Capture starts);
/// Causal inside the query's document, and the whole of the document that is its prefix:
/// (start[d] <= kv <= q) or (prefix[d] != d and doc[kv] == prefix[d]), d = doc[q].
MaskMod shared_prefix(Capture ids, Capture starts, Capture prefixes);
/// seq[q] == seq[kv] and inner on positions inside the sequence (nested tensors).
MaskMod jagged(Capture sequences, Capture offsets, MaskMod inner);
/// q // n == kv // n and inner(q % n, kv % n): batches laid end to end.
MaskMod batchify(Number length, MaskMod inner);

/// low[kv // T] <= q < high[kv // T]: text rows see the image that precedes them.
MaskMod flamingo(Number image_tokens, Capture low, Capture high);
/// Block diffusion over 2L positions, the first L noised, blocks of S.
MaskMod block_diffusion(Number block, Number length);
/// kv <= q or (span[q] == span[kv] and span[q] >= 0); `spans` is integer [positions].
MaskMod transfusion(Capture spans);
/// turn[kv] <= turn[q]: a turn sees itself in both directions and every earlier turn.
MaskMod dialogue(Capture turns);
/// kv <= q and turn[q] - turn[kv] < n: causal over the last n turns.
MaskMod dialogue_window(Capture turns, Number last_turns);

/// Neighbourhood attention on a W x H grid: the window of k x k stays inside the grid.
MaskMod natten_2d(Number width, Number height, Number kernel);
/// The same for positions laid out tile by tile, square tiles of t x t.
MaskMod tiled_natten(Number width, Number height, Number kernel, Number tile);
/// The same for positions in Z order (W and H powers of two).
MaskMod morton_natten(Number width, Number height, Number kernel);
/// |dx| <= w and |dy| <= w on a grid of width W, not clamped.
MaskMod sasa(Number width, Number radius);
/// Sliding tile attention on a W x H canvas of t x t tiles, k x k tiles a window.
MaskMod sta_2d(Number width, Number height, Number tile, Number kernel);
/// Sliding tile attention on D x H x W tiles of t tokens, text behind them: video rows see all
/// text, text rows see all.
MaskMod sta_3d(Number depth, Number height, Number width, Number kernel, Number tile);
/// q < P or kv < P + F (text and the first frame) or |q - kv| < D.
MaskMod svg_spatial(Number text, Number frame, Number distance);
/// q < P or kv < P or |(q - P) % F - (kv - P) % F| < D.
MaskMod svg_temporal(Number text, Number frame, Number distance);
/// selected[h, q // t, kv // t] and kv % t < size[kv // t]: tiles chosen by a coarse pass.
MaskMod vsa(Number tile, Capture selected, Capture sizes);

/// kv < p or ancestor[q, kv - p]: a drafted tree behind a prefix of p tokens.
MaskMod jetspec_tree(Number prefix, Capture ancestor);
/// kv < p or (block(q) == block(kv - p) and offset(kv - p) <= offset(q)), blocks of n.
MaskMod jetspec_training(Number prefix, Number block);
/// kv <= q and (kv < p or ancestor[q - p, kv - p]): prefix and tree are one sequence.
MaskMod speculative_tree(Number prefix, Capture ancestor);

/// kv < len[b]; `lengths` is integer [B].
MaskMod padded_keys(Capture lengths);
/// q < len[b] and kv < len[b]: rows past the length are empty.
MaskMod padded_lengths(Capture lengths);
/// kv % 2 == 0
MaskMod skip_odd_keys();
/// kv <= q and (q + kv) % n != 0
MaskMod scattered_causal(Number period);
/// kv <= q or video[kv] < video[q] or (video[kv] == video[q] and video[kv] % 2 == 0)
MaskMod video_causal(Capture videos);
/// The mask of logical positions for keys stored in pages: kv // s is a physical page, `logical`
/// integer [pages] maps it to a logical one, negative where it is free.
MaskMod paged(Number page, Capture logical, MaskMod inner);

// Combinators. Every part is evaluated at every pair: a part that may not be reached at some pairs
// must guard its own subscripts.
MaskMod all_of(std::vector<MaskMod> parts);
MaskMod any_of(std::vector<MaskMod> parts);
MaskMod negate(MaskMod part);
/// part at (q + q_offset, kv + kv_offset): a shard or a continued sequence.
MaskMod offset(MaskMod part, Number q_offset, Number kv_offset);

}  // namespace tilewright::masks

#pragma GCC visibility pop
