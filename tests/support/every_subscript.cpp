#include "support/every_subscript.h"

namespace tilewright::cases {

Program every_subscript(EntryContext& context) {
  const std::int64_t q_len = context.extents.q_len, kv_len = context.extents.kv_len;
  const std::int64_t heads = context.extents.query_heads;
  const Capture scalar = context.normal("scalar", DType::kF32, {});
  const Capture head = context.normal("head", DType::kF64, {heads});
  const Capture row = context.normal("row", DType::kBF16, {heads, q_len});
  const Capture column = context.normal("column", DType::kF32, {kv_len + 3});
  const Capture dense = context.normal("dense", DType::kF32, {q_len, kv_len});
  const Capture relative = context.normal("relative", DType::kF32, {heads, q_len + kv_len});
  const Capture bucket = context.normal("bucket", DType::kF16, {7});
  const Capture lookup = context.capture("lookup", DType::kI32, {kv_len}, [&](const Dims&) {
    return static_cast<double>(context.random.between(-9, 8));
  });
  const Capture gathered = context.normal("gathered", DType::kF32, {9, 2});
  const Capture embedding = context.normal("embedding", DType::kF32, {q_len, 5});
  const Capture other = context.normal("other", DType::kF32, {kv_len, 5});
  const Capture unread = context.normal("unread", DType::kF32, {3});
  Program program = trace([=](Score s, Index, Index h, Index q, Index kv) {
    // Softmax does not see what it adds to a whole row: those captures scale the score.
    Score t = s * (Value(scalar) + head[h] * 0.5 + row[h][q] * 0.1) + column[kv + 2] + dense[q][kv];
    t = t + relative[h][q - kv + kv_len - 1] * relative[h][q - kv + kv_len - 1];
    t = t + bucket[floor_mod(q * 3 + kv, 7)];
    t = t + 0.1 * tanh(dot(Vector(embedding[q]), Vector(other[kv])));
    const Score read = t + gathered[lookup[kv]][floor_mod(q, 2)];
    return Score(select(kv >= 3, read, t)) + select(q < 0, Value(unread[0]), Value(0.0));
  });
  return program;
}

}  // namespace tilewright::cases
