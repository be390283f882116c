#pragma once

// S = Q * K^T and O = row_factor * O + P * V with K and V where the caller keeps them, for work
// items of few rows (decode): every element of K and V is read once for up to four rows, so the
// products run at the speed of memory and nothing is packed.
//
//   score_direct    registers along E, two keys at a time, summed across lanes at the end
//   output_direct   registers along Ev, a few vectors of columns at a time, all keys in between
//
// Rows of K or V with an inner stride other than 1 are first copied, a few at a time, into a
// buffer on the stack. Numeric notes: everything is converted exactly to the accumulator type.

#include "storage.h"

namespace tilewright::cpu {
namespace {

inline constexpr int kDirectRows = 4;
inline constexpr int kStagedRows = 8;

/// The first `count` lanes from memory, zeros behind; never reads past them.
template <class Simd, class Source>
inline typename Simd::Register load_part(const Source* source, std::int64_t count) {
  if (count >= Simd::kLanes) return Simd::load(source);
  Source lanes[Simd::kLanes] = {};
  for (std::int64_t lane = 0; lane < count; ++lane) lanes[lane] = source[lane];
  return Simd::load(lanes);
}

/// Up to kDirectRows rows of Q in the accumulator type, zero padded to whole registers.
template <class Simd>
struct QueryRows {
  alignas(64) typename Simd::Accumulator rows[kDirectRows][kMaxHeadDim];
};

template <class Simd>
inline void fill_query(const MatrixView& view, std::int64_t first, int count,
                       QueryRows<Simd>& query) {
  using Scalar = typename Simd::Accumulator;
  with_source<Scalar>(view.type, [&](auto tag) {
    using Source = typename decltype(tag)::type;
    for (int row = 0; row < count; ++row) {
      const Source* in = row_of<Source>(view, first + row);
      Scalar* out = query.rows[row];
      for (std::int64_t column = 0; column < view.columns; ++column) {
        out[column] = convert<Scalar>(in[column * view.column_stride]);
      }
      const std::int64_t padded = round_up(view.columns, Simd::kLanes);
      for (std::int64_t column = view.columns; column < padded; ++column) out[column] = 0;
    }
  });
}

template <class Simd>
struct ScoreRows {
  typename Simd::Accumulator* score;
  std::int64_t stride;
};

/// kKeys keys of unit inner stride against kRows rows of Q.
template <class Simd, class Source, int kRows, int kKeys>
inline void score_keys(const QueryRows<Simd>& query, const MatrixView& keys, std::int64_t first,
                       ScoreRows<Simd> out) {
  typename Simd::Register sums[kRows][kKeys];
#pragma GCC unroll 8
  for (int i = 0; i < kRows * kKeys; ++i) sums[i / kKeys][i % kKeys] = Simd::zero();
  for (std::int64_t column = 0; column < keys.columns; column += Simd::kLanes) {
    typename Simd::Register key[kKeys];
#pragma GCC unroll 8
    for (int i = 0; i < kKeys; ++i) {
      const Source* source = row_of<Source>(keys, first + i) + column;
      key[i] = load_part<Simd>(source, keys.columns - column);
    }
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) {
      const auto factor = Simd::load(query.rows[row] + column);
#pragma GCC unroll 8
      for (int i = 0; i < kKeys; ++i) {
        sums[row][i] = Simd::multiply_add(factor, key[i], sums[row][i]);
      }
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows * kKeys; ++i) {
    out.score[i / kKeys * out.stride + i % kKeys] = Simd::sum(sums[i / kKeys][i % kKeys]);
  }
}

template <class Simd, class Source, int kRows>
[[gnu::noinline]] void score_rows(const QueryRows<Simd>& query, const MatrixView& keys,
                                  ScoreRows<Simd> out) {
  std::int64_t key = 0;
  for (; key + 2 <= keys.rows; key += 2) {
    score_keys<Simd, Source, kRows, 2>(query, keys, key, {out.score + key, out.stride});
  }
  if (key < keys.rows) {
    score_keys<Simd, Source, kRows, 1>(query, keys, key, {out.score + key, out.stride});
  }
}

/// Calls body(view, first row, type tag) with views of unit inner stride that cover `source` row by
/// row: the source itself, or copies of kStagedRows rows in the accumulator type.
template <class Simd, class Body>
inline void with_unit_stride(const MatrixView& source, const Body& body) {
  using Scalar = typename Simd::Accumulator;
  with_source<Scalar>(source.type, [&](auto tag) {
    using Source = typename decltype(tag)::type;
    if (source.column_stride == 1) return body(source, std::int64_t{0}, tag);
    alignas(64) Scalar staged[kStagedRows][kMaxHeadDim];
    MatrixView view = source;
    view.data = staged;
    view.row_stride = kMaxHeadDim;
    view.column_stride = 1;
    for (std::int64_t first = 0; first < source.rows; first += kStagedRows) {
      view.rows = least(source.rows - first, kStagedRows);
      for (std::int64_t row = 0; row < view.rows; ++row) {
        const Source* in = row_of<Source>(source, first + row);
        for (std::int64_t column = 0; column < source.columns; ++column) {
          staged[row][column] = convert<Scalar>(in[column * source.column_stride]);
        }
      }
      body(view, first, SourceTag<Scalar>{});
    }
  });
}

template <int kRows>
struct RowCount {
  static constexpr int value = kRows;
};

/// Calls body(RowCount<n>) for n = rows, 1 <= rows <= kDirectRows.
template <int kRows = kDirectRows, class Body>
inline void with_row_count(std::int64_t rows, const Body& body) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return with_row_count<kRows - 1>(rows, body);
  }
  body(RowCount<kRows>{});
}

template <class Simd>
void score_direct(const DirectScore& operands) {
  using Scalar = typename Simd::Accumulator;
  QueryRows<Simd> query;
  for (std::int64_t first = 0; first < operands.query.rows; first += kDirectRows) {
    const std::int64_t rows = least(operands.query.rows - first, kDirectRows);
    fill_query<Simd>(operands.query, first, static_cast<int>(rows), query);
    auto* score = static_cast<Scalar*>(operands.score) + first * operands.score_stride;
    with_unit_stride<Simd>(operands.key, [&](const MatrixView& keys, std::int64_t key, auto tag) {
      using Source = typename decltype(tag)::type;
      with_row_count(rows, [&](auto count) {
        score_rows<Simd, Source, decltype(count)::value>(query, keys,
                                                         {score + key, operands.score_stride});
      });
    });
  }
}

/// Rows of P and O that meet one view of V.
template <class Simd>
struct OutputRows {
  const typename Simd::Accumulator* probability;
  std::int64_t probability_stride;
  typename Simd::Accumulator* output;
  std::int64_t output_stride;
};

/// kRows rows of O += P * V in kVectors registers of columns from `column` on.
template <class Simd, class Source, int kRows, int kVectors>
inline void output_columns(const OutputRows<Simd>& rows, const MatrixView& values,
                           std::int64_t column) {
  typename Simd::Register sums[kRows][kVectors];
  typename Simd::Accumulator* output = rows.output + column;
#pragma GCC unroll 8
  for (int i = 0; i < kRows * kVectors; ++i) {
    sums[i / kVectors][i % kVectors] =
        Simd::load(output + i / kVectors * rows.output_stride + i % kVectors * Simd::kLanes);
  }
  const std::int64_t left = values.columns - column;
  for (std::int64_t key = 0; key < values.rows; ++key) {
    typename Simd::Register value[kVectors];
    const Source* source = row_of<Source>(values, key) + column;
#pragma GCC unroll 8
    for (int i = 0; i < kVectors; ++i) {
      const std::int64_t lanes = kVectors > 1 ? Simd::kLanes : left;
      value[i] = load_part<Simd>(source + i * Simd::kLanes, lanes);
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows * kVectors; ++i) {
      const auto factor =
          Simd::broadcast(rows.probability[i / kVectors * rows.probability_stride + key]);
      auto& sum = sums[i / kVectors][i % kVectors];
      sum = Simd::multiply_add(factor, value[i % kVectors], sum);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows * kVectors; ++i) {
    Simd::store(output + i / kVectors * rows.output_stride + i % kVectors * Simd::kLanes,
                sums[i / kVectors][i % kVectors]);
  }
}

template <class Simd, class Source, int kRows>
[[gnu::noinline]] void output_rows(const OutputRows<Simd>& rows, const MatrixView& values) {
  constexpr int kVectors = 8 / kRows;
  std::int64_t column = 0;
  for (; column + kVectors * Simd::kLanes <= values.columns; column += kVectors * Simd::kLanes) {
    output_columns<Simd, Source, kRows, kVectors>(rows, values, column);
  }
  for (; column < values.columns; column += Simd::kLanes) {
    output_columns<Simd, Source, kRows, 1>(rows, values, column);
  }
}

template <class Simd>
inline void rescale_rows(const DirectOutput& operands) {
  if (operands.row_factor == nullptr) return;
  using Scalar = typename Simd::Accumulator;
  auto* output = static_cast<Scalar*>(operands.output);
  const auto* factor = static_cast<const Scalar*>(operands.row_factor);
  for (std::int64_t row = 0; row < operands.rows; ++row) {
    for (std::int64_t column = 0; column < operands.value.columns; column += Simd::kLanes) {
      Scalar* place = output + row * operands.output_stride + column;
      Simd::store(place, Simd::multiply(Simd::load(place), Simd::broadcast(factor[row])));
    }
  }
}

template <class Simd>
void output_direct(const DirectOutput& operands) {
  using Scalar = typename Simd::Accumulator;
  rescale_rows<Simd>(operands);
  for (std::int64_t first = 0; first < operands.rows; first += kDirectRows) {
    const std::int64_t count = least(operands.rows - first, kDirectRows);
    const auto* probability =
        static_cast<const Scalar*>(operands.probability) + first * operands.probability_stride;
    auto* output = static_cast<Scalar*>(operands.output) + first * operands.output_stride;
    with_unit_stride<Simd>(
        operands.value, [&](const MatrixView& values, std::int64_t key, auto tag) {
          using Source = typename decltype(tag)::type;
          const OutputRows<Simd> rows{probability + key, operands.probability_stride, output,
                                      operands.output_stride};
          with_row_count(count, [&](auto rows_tag) {
            output_rows<Simd, Source, decltype(rows_tag)::value>(rows, values);
          });
        });
  }
}

}  // namespace
}  // namespace tilewright::cpu
