// Scores of the table: each way in which a mod meets positions, captures and masks.

#include <array>
#include <limits>

#include "support/entry.h"

namespace tilewright::cases {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Program squared(EntryContext&) {
  return trace([](Score s, Index, Index, Index, Index) { return s * s; });
}

Program causal_as_score(EntryContext&) {
  return trace(
      [](Score s, Index, Index, Index q, Index kv) { return select(q >= kv, s, -kInfinity); });
}

Program relative(EntryContext&) {
  return trace([](Score s, Index, Index, Index q, Index kv) { return s + (q - kv) * 0.03; });
}

Program alibi(EntryContext& context) {
  const auto heads = static_cast<double>(std::max<std::int64_t>(context.extents.query_heads, 1));
  return trace([heads](Score s, Index, Index h, Index q, Index kv) {
    return s + (kv - q) * exp2(-8 * (h + 1.0) / heads);
  });
}

Program alibi_in_window(EntryContext&) {
  return trace([](Score s, Index, Index h, Index q,
                  Index kv) { return s - abs(q - kv) * (0.1 / (h + 1.0)); },
               [](Index, Index, Index q, Index kv) { return (q >= kv) & (q - kv < 40); });
}

Program softcap(EntryContext&) {
  return trace([](Score s, Index, Index, Index, Index) { return 2.0 * tanh(s / 2.0); },
               [](Index, Index, Index q, Index kv) { return q >= kv; });
}

Program bounded_sigmoid(EntryContext&) {
  return trace([](Score s, Index, Index, Index, Index) { return 4.0 * sigmoid(s); });
}

Program clamped_by_number(EntryContext&) {
  const Number cap("cap", 0.7);
  return trace([&](Score s, Index, Index, Index, Index) { return clamp(s, -cap, cap); });
}

Program relative_table(EntryContext& context) {
  const std::int64_t longest = context.longest();
  const Capture table = context.normal("table", DType::kF32, {2 * longest + 1});
  return trace(
      [&](Score s, Index, Index, Index q, Index kv) { return s + table[q - kv + longest]; });
}

Program bucketed_table(EntryContext& context) {
  const Capture table = context.normal("table", DType::kBF16, {context.extents.query_heads, 16});
  return trace([&](Score s, Index, Index h, Index q, Index kv) {
    const Value distance = abs(q - kv);
    const Value far = 8 + cast(log2(distance + 1), DType::kI32);
    return s + table[h][min(select(distance < 8, distance, far), 15)];
  });
}

Program full_bias(EntryContext& context) {
  const Extents& e = context.extents;
  const Capture bias =
      context.normal("bias", DType::kF32, {e.batch, e.query_heads, e.q_len, e.kv_len});
  return trace([&](Score s, Index b, Index h, Index q, Index kv) { return s + bias[b][h][q][kv]; });
}

Program half_gates(EntryContext& context) {
  const Capture by_row =
      context.normal("by_row", DType::kF16, {context.extents.query_heads, context.extents.q_len});
  const Capture by_head = context.normal("by_head", DType::kF64, {context.extents.query_heads});
  return trace([&](Score s, Index, Index h, Index q, Index) {
    return s * sigmoid(Score(by_head[h])) + by_row[h][q];
  });
}

Program indirect_table(EntryContext& context) {
  const Capture position = context.capture(
      "position", DType::kI64, {context.longest()},
      [&](const Dims&) { return static_cast<double>(context.random.between(-12, 11)); });
  const Capture table = context.normal("table", DType::kF32, {12});
  return trace([&](Score s, Index, Index, Index q, Index kv) {
    return s + (table[position[q]] - table[position[kv]]);
  });
}

Program path_edges(EntryContext& context) {
  const std::int64_t longest = context.longest();
  const Capture weight = context.normal("weight", DType::kF32, {context.extents.query_heads, 5, 4});
  const Capture kind = context.capture("kind", DType::kU8, {longest, 4}, [&](const Dims&) {
    return static_cast<double>(context.random.between(0, 4));
  });
  return trace([&](Score s, Index, Index h, Index q, Index kv) {
    Value sum_of_steps = 0.0;
    for (int step = 0; step < 4; ++step)
      sum_of_steps = sum_of_steps + weight[h][kind[q][step]][step] * Score(kind[kv][step]);
    return s + sum_of_steps * 0.1;
  });
}

Program rope_dot(EntryContext& context) {
  const Extents& e = context.extents;
  const Capture qr = context.normal("qr", DType::kF32, {e.query_heads, e.q_len, 8});
  const Capture kr = context.normal("kr", DType::kF16, {e.kv_len, 8});
  return trace([&](Score s, Index, Index h, Index q, Index kv) {
    return s + 0.2 * dot(Vector(qr[h][q]), Vector(kr[kv]));
  });
}

Program decay(EntryContext&) {
  return trace(
      [](Score s, Index, Index, Index q, Index kv) { return s * exp(-0.02 * abs(q - kv)); });
}

Program truth_bias(EntryContext& context) {
  const Capture bits =
      context.capture("bits", DType::kBool, {context.extents.q_len, context.extents.kv_len},
                      [&](const Dims&) { return context.random.chance(0.5); });
  return trace([&](Score s, Index, Index, Index q, Index kv) { return s + bits[q][kv]; });
}

Program half_transcendentals(EntryContext& context) {
  const Capture one = context.capture("one", DType::kF16, {1}, [](const Dims&) { return 1.0; });
  return trace([&](Score s, Index, Index, Index, Index) {
    const Score x = one[0];
    return s + log(x) + sin(x) * 0.1 + cos(x) * 0.1 - exp(x) * 0.1 + sqrt(x) + tanh(x);
  });
}

Program alternating_sign(EntryContext&) {
  return trace(
      [](Score s, Index, Index, Index q, Index) { return select(floor_mod(q, 2) == 0, s, -s); });
}

Program forked_score(EntryContext&) {
  return trace([](Score s, Index b, Index, Index q, Index kv) -> Value {
    if (s > 1.0) return 1.0 + log(s);
    if (q < kv || b == 1) return s - 0.5;
    return s;
  });
}

Program ignores_score(EntryContext&) {
  return trace(
      [](Score, Index, Index, Index q, Index kv) { return Score(sin(Score(q * 3 + kv))); });
}

Program head_of_dead_scores(EntryContext&) {
  return trace([](Score s, Index, Index h, Index q, Index kv) {
    return select((h == 1) & (kv > q), Value(-kInfinity), s * 1.5);
  });
}

constexpr std::array kScores = {
    Entry{"squared", squared},
    Entry{"causal_as_score", causal_as_score},
    Entry{"relative", relative},
    Entry{"alibi", alibi},
    Entry{"alibi_in_window", alibi_in_window},
    Entry{"softcap", softcap},
    Entry{"bounded_sigmoid", bounded_sigmoid},
    Entry{"clamped_by_number", clamped_by_number},
    Entry{"relative_table", relative_table},
    Entry{"bucketed_table", bucketed_table},
    Entry{"full_bias", full_bias},
    Entry{"half_gates", half_gates},
    Entry{"indirect_table", indirect_table},
    Entry{"path_edges", path_edges},
    Entry{"rope_dot", rope_dot},
    Entry{"decay", decay},
    Entry{"truth_bias", truth_bias},
    Entry{"half_transcendentals", half_transcendentals},
    Entry{"alternating_sign", alternating_sign},
    Entry{"forked_score", forked_score},
    Entry{"ignores_score", ignores_score},
    Entry{"head_of_dead_scores", head_of_dead_scores},
};

}  // namespace

std::span<const Entry> score_entries() { return kScores; }

}  // namespace tilewright::cases
