// Scores of the table: each way in which a mod meets positions, captures and masks.

#include <limits>

#include "support/entry.h"

namespace tilewright::cases {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Program alibi_in_window(EntryContext&) {
  return trace([](Score s, Index, Index h, Index q,
                  Index kv) { return s - abs(q - kv) * (0.1 / (h + 1.0)); },
               [](Index, Index, Index q, Index kv) { return (q >= kv) & (q - kv < 40); });
}

Program bounded_sigmoid(EntryContext&) {
  return trace([](Score s, Index, Index, Index, Index) { return 4.0 * sigmoid(s); });
}

Program clamped_by_number(EntryContext&) {
  const Number cap("cap", 0.7);
  return trace([&](Score s, Index, Index, Index, Index) { return clamp(s, -cap, cap); });
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

}  // namespace

std::vector<Entry> score_entries() {
  return {{"alibi_in_window", alibi_in_window},
          {"bounded_sigmoid", bounded_sigmoid},
          {"clamped_by_number", clamped_by_number},
          {"half_gates", half_gates},
          {"indirect_table", indirect_table},
          {"truth_bias", truth_bias},
          {"half_transcendentals", half_transcendentals},
          {"alternating_sign", alternating_sign},
          {"forked_score", forked_score},
          {"ignores_score", ignores_score},
          {"head_of_dead_scores", head_of_dead_scores}};
}

}  // namespace tilewright::cases
