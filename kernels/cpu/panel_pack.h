#pragma once

// Packing of Q (row-major, E padded) and of K and V into the panels that panel_product.h reads.
//
// K and V are one case: a panel holds B[depth][kColumns] with B = K^T (depth E) or B = V (depth
// kv), so pack_key is pack_value of the transposed view. Pairs of depth rows are interleaved where
// Gemm::kDepthStep is 2: [depth / 2][kColumns][2]. The depth E is padded to Gemm::kDepthMultiple.
//
// Numeric notes: conversions to f32 and f64 are exact; bf16 is packed only from bf16.

#include "panel_product.h"

namespace tilewright::cpu {
namespace {

template <class Word>
using Quad [[gnu::vector_size(4 * sizeof(Word)), gnu::may_alias]] = Word;

/// Depth steps of one panel in the unit that the products broadcast (Factor).
template <class Gemm>
struct Panel {
  typename Gemm::Packed* out;

  typename Gemm::Packed& at(std::int64_t depth, std::int64_t column) const {
    constexpr std::int64_t kStep = Gemm::kDepthStep;
    return out[(depth / kStep * kColumns<Gemm> + column) * kStep + depth % kStep];
  }
};

/// A rectangle of a panel and of its source.
struct Region {
  std::int64_t depth_begin, depth_end;
  std::int64_t column_begin, column_end;
};

inline Bf16 to_packed(Bf16 value, Bf16 /*packed*/) { return value; }
template <class Source>
inline float to_packed(Source value, float /*packed*/) {
  return convert<float>(value);
}
template <class Source>
inline double to_packed(Source value, double /*packed*/) {
  return convert<double>(value);
}

template <class Gemm, class Source>
inline void pack_elements(const MatrixView& view, Panel<Gemm> panel, Region region) {
  for (std::int64_t depth = region.depth_begin; depth < region.depth_end; ++depth) {
    const Source* source = row_of<Source>(view, depth);
    for (std::int64_t column = region.column_begin; column < region.column_end; ++column) {
      panel.at(depth, column) =
          to_packed(source[column * view.column_stride], typename Gemm::Packed{});
    }
  }
}

template <class Word>
inline void transpose(Quad<Word> (&rows)[4]) {
  const Quad<Word> low01 = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5);
  const Quad<Word> low23 = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5);
  const Quad<Word> high01 = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7);
  const Quad<Word> high23 = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
  rows[0] = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
  rows[1] = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
  rows[2] = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
  rows[3] = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
}

/// Four depth steps of one column whose depth stride is 1. A pair of bf16 moves as one word.
template <class Gemm, class Source>
inline void load_quad(const Source* source, Quad<typename Gemm::Factor>& quad) {
  using Word = typename Gemm::Factor;
  if constexpr (sizeof(Source) * Gemm::kDepthStep == sizeof(Word)) {
    __builtin_memcpy(&quad, source, sizeof(quad));
  } else {
    for (int lane = 0; lane < 4; ++lane) quad[lane] = convert<Word>(source[lane]);
  }
}

/// Keys, or depth rows, that packing asks for ahead of time: the rows of a view lie too far apart
/// for the hardware to follow from one to the next.
inline constexpr std::int64_t kPackAhead = 8;

/// Columns whose depth stride is 1 (K as usually stored): 4 x 4 blocks through registers.
template <class Gemm, class Source>
inline void pack_transposed(const MatrixView& view, Panel<Gemm> panel, Region region) {
  using Word = typename Gemm::Factor;
  constexpr std::int64_t kBlockDepth = 4 * Gemm::kDepthStep;
  for (std::int64_t column = region.column_begin; column < region.column_end; column += 4) {
    const Source* source = row_of<Source>(view, 0) + column * view.column_stride;
    for (std::int64_t depth = 0; depth < region.depth_end; depth += kBlockDepth) {
      Quad<Word> block[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const Source* ahead = source + depth + (kPackAhead + i) * view.column_stride;
        __builtin_prefetch(ahead);
        load_quad<Gemm>(source + depth + i * view.column_stride, block[i]);
      }
      transpose<Word>(block);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        auto* target = &panel.at(depth + i * Gemm::kDepthStep, column);
        __builtin_memcpy(target, &block[i], sizeof(block[i]));
      }
    }
  }
}

/// Full-width rows whose column stride is 1 (V as usually stored).
template <class Gemm, class Source>
inline void pack_straight(const MatrixView& view, Panel<Gemm> panel, Region region) {
  if constexpr (Gemm::kDepthStep == 1) {
    for (std::int64_t depth = region.depth_begin; depth < region.depth_end; ++depth) {
      const Source* source = row_of<Source>(view, depth);
      __builtin_prefetch(source + kPackAhead * view.row_stride);
      Gemm::store(&panel.at(depth, 0), Gemm::load(source));
      Gemm::store(&panel.at(depth, Gemm::kLanes), Gemm::load(source + Gemm::kLanes));
    }
  } else {
    for (std::int64_t depth = region.depth_begin; depth < region.depth_end; depth += 2) {
      const Source* even = row_of<Source>(view, depth);
      const Source* odd = row_of<Source>(view, depth + 1);
      __builtin_prefetch(even + kPackAhead * view.row_stride);
      __builtin_prefetch(odd + kPackAhead * view.row_stride);
      Source* target = &panel.at(depth, 0);
      for (std::int64_t column = 0; column < kColumns<Gemm>; ++column) {
        target[2 * column] = even[column];
        target[2 * column + 1] = odd[column];
      }
    }
  }
}

/// Columns [first_column, first_column + kColumns) of a view, at most.
template <class Gemm, class Source>
inline MatrixView panel_view(const MatrixView& view, std::int64_t first_column) {
  MatrixView part = view;
  part.data = row_of<Source>(view, 0) + first_column * view.column_stride;
  part.columns = least(view.columns - first_column, kColumns<Gemm>);
  return part;
}

/// The full panels of a view whose column stride is 1, a few rows of all panels at a time: each row
/// is read from end to end, as memory likes it. Rows from depth_end on are left out.
template <class Gemm, class Source>
inline void pack_straight_panels(const MatrixView& view, Panel<Gemm> first, std::int64_t depth_end,
                                 std::int64_t padded_depth) {
  for (std::int64_t depth = 0; depth < depth_end; depth += kPackAhead) {
    const std::int64_t end = least(depth + kPackAhead, depth_end);
    Panel<Gemm> panel = first;
    for (std::int64_t column = 0; column + kColumns<Gemm> <= view.columns;
         column += kColumns<Gemm>) {
      pack_straight<Gemm, Source>(panel_view<Gemm, Source>(view, column), panel,
                                  {depth, end, 0, kColumns<Gemm>});
      panel.out += padded_depth * kColumns<Gemm>;
    }
  }
}

/// What is left of one panel: all but `done` depth steps of its columns, and the padding.
template <class Gemm, class Source>
inline void pack_panel(const MatrixView& view, Panel<Gemm> panel, std::int64_t done,
                       std::int64_t padded_depth) {
  const std::int64_t depth = view.rows;
  const std::int64_t columns = view.columns;
  if (columns < kColumns<Gemm> || depth < padded_depth) {
    const auto elements = static_cast<std::uint64_t>((padded_depth - done) * kColumns<Gemm>);
    __builtin_memset(panel.out + done * kColumns<Gemm>, 0,
                     elements * sizeof(typename Gemm::Packed));
  }
  Region fast{0, done, 0, columns};
  if (done == 0 && view.row_stride == 1) {
    constexpr std::int64_t kBlockDepth = 4 * Gemm::kDepthStep;
    fast = {0, depth / kBlockDepth * kBlockDepth, 0, columns / 4 * 4};
    pack_transposed<Gemm, Source>(view, panel, fast);
  }
  pack_elements<Gemm, Source>(view, panel, {0, fast.depth_end, fast.column_end, columns});
  pack_elements<Gemm, Source>(view, panel, {fast.depth_end, depth, 0, columns});
}

/// All panels of a view of depth x columns.
template <class Gemm>
inline void pack_panels(const MatrixView& view, void* packed, std::int64_t padded_depth) {
  with_source<typename Gemm::Packed>(view.type, [&](auto tag) {
    using Source = typename decltype(tag)::type;
    Panel<Gemm> panel{static_cast<typename Gemm::Packed*>(packed)};
    const std::int64_t straight =
        view.column_stride == 1 ? view.rows / Gemm::kDepthStep * Gemm::kDepthStep : 0;
    pack_straight_panels<Gemm, Source>(view, panel, straight, padded_depth);
    for (std::int64_t column = 0; column < view.columns; column += kColumns<Gemm>) {
      const MatrixView part = panel_view<Gemm, Source>(view, column);
      const std::int64_t done = part.columns == kColumns<Gemm> ? straight : 0;
      pack_panel<Gemm, Source>(part, panel, done, padded_depth);
      panel.out += padded_depth * kColumns<Gemm>;
    }
  });
}

template <class Gemm>
void pack_key(const MatrixView& source, void* packed) {
  MatrixView transposed = source;
  transposed.rows = source.columns;
  transposed.columns = source.rows;
  transposed.row_stride = source.column_stride;
  transposed.column_stride = source.row_stride;
  pack_panels<Gemm>(transposed, packed, round_up(source.columns, Gemm::kDepthMultiple));
}

template <class Gemm>
void pack_value(const MatrixView& source, void* packed) {
  pack_panels<Gemm>(source, packed, round_up(source.rows, kColumns<Gemm>));
}

template <class Source, class Packed>
inline void pack_row(const Source* in, std::int64_t stride, std::int64_t columns, Packed* out) {
  // A loop of its own, because only this one becomes vector code.
  if (stride == 1) {
    for (std::int64_t column = 0; column < columns; ++column) {
      out[column] = to_packed(in[column], Packed{});
    }
    return;
  }
  for (std::int64_t column = 0; column < columns; ++column) {
    out[column] = to_packed(in[column * stride], Packed{});
  }
}

template <class Gemm>
void pack_query(const MatrixView& source, void* packed) {
  using Packed = typename Gemm::Packed;
  with_source<Packed>(source.type, [&](auto tag) {
    using Source = typename decltype(tag)::type;
    const std::int64_t padded_depth = round_up(source.columns, Gemm::kDepthMultiple);
    auto* out = static_cast<Packed*>(packed);
    for (std::int64_t row = 0; row < source.rows; ++row, out += padded_depth) {
      pack_row(row_of<Source>(source, row), source.column_stride, source.columns, out);
      for (std::int64_t column = source.columns; column < padded_depth; ++column) {
        out[column] = Packed{};
      }
    }
  });
}

}  // namespace
}  // namespace tilewright::cpu
