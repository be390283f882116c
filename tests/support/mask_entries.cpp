// Masks of the table: each kind of structure that analysis, placement and kernels treat apart.

#include "support/entry.h"

namespace tilewright::cases {

namespace {

Program unsorted_documents(EntryContext& context) {
  const Capture document = context.capture(
      "document", DType::kI16, {context.longest()},
      [&](const Dims&) { return static_cast<double>(context.random.between(0, 3)); });
  return trace([&](Index, Index, Index q, Index kv) {
    return (Index(document[q]) == Index(document[kv])) & (q >= kv);
  });
}

Program negative_operands(EntryContext&) {
  return trace([](Index, Index, Index q, Index kv) {
    return (floor_div(q - 68, 4) == floor_div(kv - 68, 4)) &
           (floor_mod(q - 64, 4) != floor_mod(kv - 65, 4));
  });
}

Program one_head_sees_nothing(EntryContext&) {
  return trace([](Index, Index h, Index q, Index kv) { return (h != 0) & (q >= kv - 1); });
}

Program every_fourth_row_empty(EntryContext&) {
  return trace(
      [](Index, Index h, Index q, Index kv) { return (kv <= q) & (floor_mod(q + h, 4) != 3); });
}

Program nothing(EntryContext&) {
  return trace([](Index, Index, Index q, Index) { return q < 0; });
}

Program random_bits(EntryContext& context) {
  const Dims shape{context.extents.q_len, context.extents.kv_len};
  const Capture bits = context.capture("bits", DType::kBool, shape,
                                       [&](const Dims&) { return context.random.chance(0.4); });
  return trace([&](Index, Index, Index q, Index kv) { return Bool(bits[q][kv]); });
}

Program bit_twiddling(EntryContext&) {
  return trace([](Index, Index, Index q, Index kv) {
    return (((q ^ kv) & 5) == 0) | ((q >> 3) == (kv << 1 >> 4));
  });
}

Program forked(EntryContext&) {
  return trace([](Index b, Index h, Index q, Index kv) {
    if (q < 20 && kv < 20) return Bool(true);
    if (floor_mod(b + h, 2) == 0) return Bool(kv <= q);
    return Bool(kv >= q - 30);
  });
}

}  // namespace

std::vector<Entry> mask_entries() {
  return {{"unsorted_documents", unsorted_documents},
          {"negative_operands", negative_operands},
          {"one_head_sees_nothing", one_head_sees_nothing},
          {"every_fourth_row_empty", every_fourth_row_empty},
          {"nothing", nothing},
          {"random_bits", random_bits},
          {"bit_twiddling", bit_twiddling},
          {"forked", forked}};
}

}  // namespace tilewright::cases
