// Masks of the table: each kind of structure that analysis, placement and kernels treat apart.

#include <algorithm>
#include <array>

#include "support/entry.h"

namespace tilewright::cases {

namespace {

Program identity(EntryContext&) { return {}; }

Program causal(EntryContext&) {
  return trace([](Index, Index, Index q, Index kv) { return q >= kv; });
}

Program causal_offset(EntryContext& context) {
  const Capture offset = context.capture("offset", DType::kI32, {}, [&](const Dims&) {
    return static_cast<double>(context.bottom_right());
  });
  return trace([&](Index, Index, Index q, Index kv) { return q + offset >= kv; });
}

Program window(EntryContext& context) {
  const Number offset("offset", context.bottom_right());
  return trace([&](Index, Index, Index q, Index kv) {
    const Index distance = q + offset - kv;
    return (distance >= 0) & (distance < 17);
  });
}

Program dilated_window(EntryContext&) {
  return trace([](Index, Index, Index q, Index kv) {
    const Index distance = abs(q - kv);
    return (distance <= 24) & (floor_mod(distance, 3) == 0);
  });
}

Program global_and_window(EntryContext& context) {
  const Capture global = context.capture("global", DType::kBool, {context.longest()},
                                         [&](const Dims& at) { return at[0] % 37 == 5; });
  return trace([&](Index, Index, Index q, Index kv) {
    return (abs(q - kv) <= 9) | Bool(global[q]) | Bool(global[kv]);
  });
}

Program prefix_per_batch(EntryContext& context) {
  const Capture prefix =
      context.capture("prefix", DType::kI64, {context.extents.batch},
                      [](const Dims& at) { return static_cast<double>(5 + 11 * at[0]); });
  return trace(
      [&](Index b, Index, Index q, Index kv) { return (kv < Index(prefix[b])) | (q >= kv); });
}

Program documents(EntryContext& context) {
  const Capture document =
      context.capture("document", DType::kI32, {context.longest()},
                      [](const Dims& at) { return static_cast<double>(at[0] / 29); });
  return trace(
      [&](Index, Index, Index q, Index kv) { return Index(document[q]) == Index(document[kv]); });
}

Program unsorted_documents(EntryContext& context) {
  const Capture document = context.capture(
      "document", DType::kI16, {context.longest()},
      [&](const Dims&) { return static_cast<double>(context.random.between(0, 3)); });
  return trace([&](Index, Index, Index q, Index kv) {
    return (Index(document[q]) == Index(document[kv])) & (q >= kv);
  });
}

Program packed_causal(EntryContext& context) {
  const Capture start =
      context.capture("start", DType::kI32, {context.longest()},
                      [](const Dims& at) { return static_cast<double>(at[0] / 40 * 40); });
  return trace(
      [&](Index, Index, Index q, Index kv) { return (kv >= Index(start[q])) & (kv <= q); });
}

Program chunks(EntryContext&) {
  return trace([](Index, Index, Index q, Index kv) {
    const Index distance = floor_div(q, 24) - floor_div(kv, 24);
    return (distance >= 0) & (distance <= 2);
  });
}

Program negative_operands(EntryContext&) {
  return trace([](Index, Index, Index q, Index kv) {
    return (floor_div(q - 68, 4) == floor_div(kv - 68, 4)) &
           (floor_mod(q - 64, 4) != floor_mod(kv - 65, 4));
  });
}

Program flamingo(EntryContext& context) {
  const std::int64_t images = context.extents.kv_len / 16 + 1;
  const Capture low = context.capture("low", DType::kI32, {images}, [](const Dims& at) {
    return static_cast<double>(at[0] * 12 - 3);
  });
  const Capture high = context.capture("high", DType::kI32, {images}, [](const Dims& at) {
    return static_cast<double>(at[0] * 12 + 40);
  });
  return trace([&](Index, Index, Index q, Index kv) {
    const Index image = kv / 16;
    return (Index(low[image]) <= q) & (q < Index(high[image]));
  });
}

Program block_diffusion(EntryContext& context) {
  const std::int64_t half = std::max<std::int64_t>(context.longest() / 2, 1);
  return trace([half](Index, Index, Index q, Index kv) {
    const Bool q_clean = q >= half;
    const Bool kv_clean = kv >= half;
    const Index q_block = select(q_clean, q - half, q) / 16;
    const Index kv_block = select(kv_clean, kv - half, kv) / 16;
    const Bool same = (q_block == kv_block) & (q_clean == kv_clean);
    return same | (~q_clean & kv_clean & (kv_block < q_block)) |
           (q_clean & kv_clean & (kv_block <= q_block));
  });
}

Program transfusion(EntryContext& context) {
  const Capture span = context.capture("span", DType::kI8, {context.longest()}, [](const Dims& at) {
    return at[0] / 20 % 2 == 1 ? static_cast<double>(at[0] / 20) : 0.0;
  });
  return trace([&](Index, Index, Index q, Index kv) {
    return (q >= kv) | ((Index(span[q]) == Index(span[kv])) & (Index(span[q]) > 0));
  });
}

Program neighbourhood_2d(EntryContext&) {
  return trace([](Index, Index, Index q, Index kv) {
    const auto near = [](const Index& a, const Index& b, int extent) {
      return abs(clamp(a, 3, extent - 4) - b) <= 3;
    };
    return near(floor_mod(q, 13), floor_mod(kv, 13), 13) &
           near(floor_div(q, 13), floor_div(kv, 13), 13);
  });
}

Program ancestor_table(EntryContext& context) {
  const std::int64_t nodes = 32;
  const Capture ancestor =
      context.capture("ancestor", DType::kU8, {nodes, nodes},
                      [](const Dims& at) { return at[1] <= at[0] && (at[0] - at[1]) % 3 != 1; });
  return trace([&](Index, Index, Index q, Index kv) {
    if (kv < 9) return Bool(true);
    if (q < nodes && kv - 9 < nodes) return Bool(Index(ancestor[q][kv - 9]) != 0);
    return Bool(false);
  });
}

Program padded_lengths(EntryContext& context) {
  const Capture length =
      context.capture("length", DType::kI32, {context.extents.batch}, [&](const Dims& at) {
        return static_cast<double>(context.extents.kv_len * (2 * at[0] + 1) / 5);
      });
  return trace([&](Index b, Index, Index q, Index kv) {
    return (kv < Index(length[b])) && (q < Index(length[b]));
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
    return ((q ^ kv) & 5) == 0 | ((q >> 3) == (kv << 1 >> 4));
  });
}

Program forked(EntryContext&) {
  return trace([](Index b, Index h, Index q, Index kv) {
    if (q < 20 && kv < 20) return Bool(true);
    if (floor_mod(b + h, 2) == 0) return Bool(kv <= q);
    return Bool(kv >= q - 30);
  });
}

constexpr std::array kMasks = {
    Entry{"identity", identity},
    Entry{"causal", causal},
    Entry{"causal_offset", causal_offset},
    Entry{"window", window},
    Entry{"dilated_window", dilated_window},
    Entry{"global_and_window", global_and_window},
    Entry{"prefix_per_batch", prefix_per_batch},
    Entry{"documents", documents},
    Entry{"unsorted_documents", unsorted_documents},
    Entry{"packed_causal", packed_causal},
    Entry{"chunks", chunks},
    Entry{"negative_operands", negative_operands},
    Entry{"flamingo", flamingo},
    Entry{"block_diffusion", block_diffusion},
    Entry{"transfusion", transfusion},
    Entry{"neighbourhood_2d", neighbourhood_2d},
    Entry{"ancestor_table", ancestor_table},
    Entry{"padded_lengths", padded_lengths},
    Entry{"one_head_sees_nothing", one_head_sees_nothing},
    Entry{"every_fourth_row_empty", every_fourth_row_empty},
    Entry{"nothing", nothing},
    Entry{"random_bits", random_bits},
    Entry{"bit_twiddling", bit_twiddling},
    Entry{"forked", forked},
};

}  // namespace

std::span<const Entry> mask_entries() { return kMasks; }

}  // namespace tilewright::cases
