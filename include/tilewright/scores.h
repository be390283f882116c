#pragma once

#include <cstdint>

#include "tilewright/author.h"
#include "tilewright/program.h"
#include "tilewright/table.h"

#pragma GCC visibility push(default)

/// Ready score mods: the new score from the scaled score s. Numbers are named after the formula's
/// letter, as in masks.h. Tables may be floats of any width; they are read as at least fp32.
namespace tilewright::scores {

/// s
ScoreMod identity();
/// 2 s
ScoreMod times_two();
/// s * s
ScoreMod squared();
/// s where kv <= q, else -inf
ScoreMod causal();
/// s where kv >= q, else -inf
ScoreMod inverse_causal();
/// s + (q - kv)
ScoreMod relative();
/// s + (q - kv) where kv <= q, else -inf
ScoreMod relative_causal();
/// s + (kv - q) * 2^(-8 (h + 1) / H)
ScoreMod alibi(Number heads);
/// s + 2 h
ScoreMod head_bias();
/// c * tanh(s / c): |t| <= c
ScoreMod softcap(Number cap);
/// s + T[q - kv + o] * H / (8 (h + 1)); `distances` is float [distances], T[o] is distance 0.
ScoreMod sandwich(Capture distances, Number offset, Number heads);
/// s + table[h, bucket[clamp(kv - q, -m, m) + m]]; `table` is float [H, n], `buckets` is integer
/// [2 m + 1]: t5_buckets(n, m) makes it.
ScoreMod t5_bucket(Capture table, Capture buckets, Number max_distance);
/// i32 [2 m + 1]: the bucket of kv - q = i - m. Half of the n buckets serve each direction: the
/// nearer half of those one distance each, the rest logarithmic up to m.
Table t5_buckets(std::int64_t buckets, std::int64_t max_distance);
/// s + table[h, (dy + w - 1) * (2 w - 1) + dx + w - 1] inside a window of w x w positions.
ScoreMod swin_2d(Capture table, Number window);
/// s + table[h, clamp(q - kv, -m, m) + m]; `table` is float [H, 2 m + 1].
ScoreMod relative_table(Capture table, Number max_distance);
/// s + bias[b, h, q, kv]
ScoreMod full_bias(Capture bias);
/// s + bias[h, q, kv]
ScoreMod pair_bias(Capture bias);
/// s + bias[h]
ScoreMod bias_head(Capture bias);
/// s + bias[q]
ScoreMod bias_query(Capture bias);
/// s + bias[kv]
ScoreMod bias_key(Capture bias);
/// s + bias[b]
ScoreMod bias_batch(Capture bias);
/// s + bias[b, h]
ScoreMod bias_batch_head(Capture bias);
/// s * w[h, q]
ScoreMod scale_head_query(Capture weights);
/// s * w[h]
ScoreMod head_scale(Capture weights);
/// s * sigmoid(g[h])
ScoreMod head_gate(Capture gates);
/// s + bias[h, dist[b, q, kv]]
ScoreMod graphormer_spatial(Capture bias, Capture distances);
/// s + mean over path steps n of w[h, n, type[b, q, kv, n]]
ScoreMod graphormer_edge(Capture weights, Capture types);
/// s + c * dot(qr[b, h, q, :], kr[b, h // G, kv, :])
ScoreMod mla_rope(Capture query_rope, Capture key_rope, Number group, Number scale);
/// log(relu(s)^2 + N): with out * exp(lse) - N * sum(value) it turns softmax off.
ScoreMod activation(Number floor);
/// s - a * |q - kv|
ScoreMod distance_decay(Number rate);
/// s + p[q] * r[kv]
ScoreMod position_table(Capture query_table, Capture key_table);
/// s + sum over centres k of w[h, k] * exp(-((q - kv) - c[k])^2 * g)
ScoreMod rbf(Capture weights, Capture centres, Number gamma);
/// s - a * max(|q - kv| - W, 0): free up to distance W, then a linear penalty.
ScoreMod soft_window(Number width, Number slope);
/// s + log(sigmoid((W - |q - kv|) / t)): a window whose edge is t wide.
ScoreMod sigmoid_window(Number width, Number temperature);

/// second(first(s)).
ScoreMod then(ScoreMod first, ScoreMod second);

}  // namespace tilewright::scores

#pragma GCC visibility pop
