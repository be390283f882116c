#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "base/element.h"
#include "tile_expectations.h"
#include "tilewright/program.h"

/// Captured tensors: every dtype, access pattern and stride, and what dead lanes may not touch.
namespace tilewright::test {
namespace {

const std::vector<DType> kDTypes = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16,
                                    DType::kI8,  DType::kI16, DType::kI32, DType::kI64,
                                    DType::kU8,  DType::kBool};

const std::vector<TilePlace> kPlaces = {
    {.rows = 6, .cols = 64, .col_begin = 0, .col_end = 64, .b = 1, .h = 2, .q_begin = 10},
    {.rows = 4,
     .cols = 48,
     .col_begin = 7,
     .col_end = 37,
     .b = 0,
     .h = 3,
     .q_begin = 31,
     .kv_begin = 5},
};

std::vector<cpu::PassVariant> variants() {
  return {{.prob = cpu::ProbType::kF32, .fits_int32 = true, .checked = false},
          {.prob = cpu::ProbType::kF32, .fits_int32 = false, .checked = true},
          {.is_f64 = true, .prob = cpu::ProbType::kF64, .fits_int32 = true, .checked = true}};
}

/// A tensor whose memory ends where its last element does, so that ASan sees any read past it.
class Table {
 public:
  Table(DType dtype, const Dims& shape, std::int64_t spread = 1) {
    view_ = contiguous(nullptr, dtype, shape);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) view_.strides[axis] *= spread;
    const std::int64_t count = (element_count(shape) - 1) * spread + 1;
    bytes_ = std::make_unique<char[]>(static_cast<std::size_t>(count) * size_bytes(dtype));
    view_.data = bytes_.get();
    for (std::int64_t i = 0; i < count; ++i) {
      const double value = static_cast<double>((i * 37 + 11) % 113) / 16 - 3;
      if (is_floating(dtype))
        write_real(view_, i, value);
      else
        bytes_[static_cast<std::size_t>(i) * size_bytes(dtype)] =
            static_cast<char>(dtype == DType::kBool ? i % 3 == 0 : (i * 5) % 7);
    }
  }
  Capture capture(const std::string& name) const { return Capture(name, view_); }
  /// The last axis walked backwards.
  Capture reversed(const std::string& name) const {
    TensorView view = view_;
    const std::size_t last = view.rank() - 1;
    view.data = bytes_.get() + (view.shape[last] - 1) * view.strides[last] *
                                   static_cast<std::int64_t>(size_bytes(view.dtype));
    view.strides[last] = -view.strides[last];
    return Capture(name, view);
  }

 private:
  TensorView view_;
  std::unique_ptr<char[]> bytes_;
};

void expect_all(const Program& program, bool whole = true) {
  std::vector<TilePlace> places = kPlaces;
  for (TilePlace& place : places) place.whole = whole;
  for (const PassMaker& maker : pass_makers())
    for (const cpu::PassVariant& variant : variants())
      expect_pass_matches(maker, program.structure(), program.bindings(), variant, places);
}

TEST(Captures, EveryDTypeByRowColumnHeadAndPair) {
  for (const DType dtype : kDTypes) {
    SCOPED_TRACE(name(dtype));
    const Table by_head(dtype, {4}), by_position(dtype, {80}), by_pair(dtype, {40, 70});
    const Capture head = by_head.capture("head"), at = by_position.capture("at"),
                  pair = by_pair.capture("pair");
    expect_all(trace([&](Score s, Index, Index h, Index q, Index kv) {
      return s + 1.0 * head(h) + 0.5 * at(q) + 0.25 * at(kv) + 0.125 * pair(q, kv);
    }));
  }
}

TEST(Captures, StridesReversalsAndNegativeSubscripts) {
  for (const DType dtype : {DType::kF32, DType::kI16, DType::kBool}) {
    SCOPED_TRACE(name(dtype));
    const Table strided(dtype, {40, 80}, 3), plain(dtype, {160});
    const Capture pair = strided.capture("pair"), back = plain.reversed("back"),
                  line = plain.capture("line");
    expect_all(trace([&](Score s, Index, Index, Index q, Index kv) {
      return s + 1.0 * pair(q, kv) + 0.5 * back(kv + q) + 0.25 * line(q - kv) +
             0.125 * line(q - kv + 80) + 0.5 * line(kv - 100);
    }));
  }
}

TEST(Captures, TablesOfTables) {
  const Table outer(DType::kI32, {80}), inner(DType::kBF16, {8, 8});
  const Capture index = outer.capture("index"), value = inner.capture("value");
  expect_all(trace(
      [&](Score s, Index, Index, Index q, Index kv) { return s + value(index(q), index(kv)); }));
}

TEST(Captures, MasksOfTables) {
  const Table documents(DType::kI32, {80}), allowed(DType::kBool, {40, 70});
  const Capture doc = documents.capture("doc"), pair = allowed.capture("pair");
  expect_all(trace([&](Index, Index, Index q, Index kv) { return doc(q) == doc(kv); }));
  expect_all(trace([&](Index, Index, Index q, Index kv) { return pair(q, kv); }));
}

TEST(Captures, GuardedTablesHoldZeroWhereTheGuardFails) {
  const Table documents(DType::kI32, {80}), weights(DType::kBF16, {80}), one(DType::kF32, {});
  const Capture doc = documents.capture("doc"), weight = weights.capture("weight"),
                single = one.capture("single");
  expect_all(trace([&](Index, Index, Index q, Index kv) { return q >= kv && doc(q) == doc(kv); }));
  // The text form can use a guarded load where its guard fails.
  expect_all(
      Program::parse("score = score + weight[q, when=kv < 20] + weight[kv, when=q < 14] + "
                     "single[when=q == kv] + doc[h, when=kv > 3]",
                     {weight, single, doc}));
}

TEST(Captures, F64TablesMakeMasksF64) {
  const Table table(DType::kF64, {80});
  const Capture at = table.capture("at");
  expect_all(trace([&](Index, Index, Index q, Index kv) { return at(q) * 3.0 < at(kv) + 0.1; }));
}

TEST(Captures, DeadLanesReadNothingOutside) {
  // Guards end each table where its memory ends; columns and rows go on.
  const Table rows(DType::kF32, {12}), columns(DType::kI8, {20}), pairs(DType::kF64, {12, 9});
  const Capture row = rows.capture("row"), column = columns.capture("column"),
                pair = pairs.capture("pair");
  expect_all(trace([&](Score s, Index, Index, Index q, Index kv) -> Score {
    if (q < 12 && kv < 9) s += 1.0 * pair(q, kv);
    if (q < 12) s += row(q);
    if (kv < 20) s += 1.0 * column(kv);
    return s;
  }));
  expect_all(trace([&](Score s, Index, Index, Index q, Index kv) { return s + pair(q, kv); },
                   [](Index, Index, Index q, Index kv) { return (q < 12) & (kv < 9); }),
             false);
}

/// Runs the masked pass of a checked variant and returns the fault.
cpu::PassFault fault_of(const PassMaker& maker, const Program& program, const TilePlace& place) {
  const cpu::PassVariant variant{.prob = cpu::ProbType::kF32, .fits_int32 = true, .checked = true};
  const auto pass = maker.make(program.structure(), variant);
  TileRunner runner(program.bindings(), variant, 1.0);
  RowState state = empty_state(place.rows);
  return runner
      .run(*pass, true, place,
           std::vector<double>(static_cast<std::size_t>(place.rows * place.cols)), state)
      .fault;
}

TEST(Faults, NameTheNodeAxisAndIndex) {
  const Table table(DType::kF32, {30, 40});
  const Capture pair = table.capture("pair");
  const Program second =
      trace([&](Score s, Index, Index, Index q, Index kv) { return s + pair(q, kv); });
  const Program first =
      trace([&](Score s, Index, Index, Index q, Index) { return s + pair(q - 100, 3); });
  const Program column =
      trace([&](Score s, Index, Index, Index, Index kv) { return s + pair(0, kv); });
  for (const PassMaker& maker : pass_makers()) {
    SCOPED_TRACE(maker.name);
    const TilePlace place{.rows = 2, .cols = 48, .col_begin = 3, .col_end = 45, .q_begin = 4};
    const cpu::PassFault behind = fault_of(maker, second, place);
    EXPECT_EQ(second.structure().node(static_cast<ir::NodeId>(behind.node)).op, ir::Op::kLoad);
    EXPECT_EQ(behind.axis, 1);
    EXPECT_EQ(behind.index, 40);
    const cpu::PassFault before = fault_of(maker, first, place);
    EXPECT_EQ(before.axis, 0);
    EXPECT_EQ(before.index, -96);
    EXPECT_EQ(fault_of(maker, column, place).index, 40);
    const TilePlace inside{.rows = 2, .cols = 48, .col_begin = 3, .col_end = 40, .q_begin = 4};
    EXPECT_EQ(fault_of(maker, second, inside).node, -1);
    EXPECT_EQ(fault_of(maker, column, inside).node, -1);
  }
}

TEST(Faults, CountOnlyWhereThePairIsLive) {
  const Table table(DType::kF32, {20});
  const Capture at = table.capture("at");
  const auto mod = [&](Score s, Index, Index, Index, Index kv) { return s + at(kv); };
  const Program masked = trace(mod, [](Index, Index, Index, Index kv) { return kv < 20; });
  const Program wide = trace(mod, [](Index, Index, Index, Index kv) { return kv < 21; });
  const Program by_row = trace([&](Score s, Index, Index, Index q, Index) { return s + at(q); },
                               [](Index, Index, Index q, Index kv) { return q + kv < 20; });
  for (const PassMaker& maker : pass_makers()) {
    SCOPED_TRACE(maker.name);
    EXPECT_EQ(fault_of(maker, masked, {.rows = 3, .cols = 32}).node, -1);
    EXPECT_EQ(fault_of(maker, wide, {.rows = 3, .cols = 32}).index, 20);
    EXPECT_EQ(fault_of(maker, by_row, {.rows = 40, .cols = 16, .col_end = 16}).node, -1);
  }
}

TEST(Faults, DivisionByZero) {
  const Program live = trace([](Index, Index, Index q, Index kv) { return q / (kv - 9) == 0; });
  const Program guarded = trace([](Index, Index, Index q, Index kv) -> Bool {
    if (kv == 9) return false;
    return q % (kv - 9) == 0;
  });
  for (const PassMaker& maker : pass_makers()) {
    SCOPED_TRACE(maker.name);
    const cpu::PassFault fault = fault_of(maker, live, {.rows = 1, .cols = 32});
    ASSERT_GE(fault.node, 0);
    EXPECT_EQ(live.structure().node(static_cast<ir::NodeId>(fault.node)).op, ir::Op::itrunc_div);
    EXPECT_EQ(fault_of(maker, live, {.rows = 1, .cols = 32, .col_end = 9}).node, -1);
    EXPECT_EQ(fault_of(maker, guarded, {.rows = 1, .cols = 32}).node, -1);
  }
}

TEST(Faults, AnEmptyTensorIsNeverRead) {
  const Capture none("none", contiguous(nullptr, DType::kF32, {0}));
  const Program program = trace([&](Score s, Index, Index, Index, Index kv) -> Score {
    if (kv < 0) return s + none(kv);
    return s;
  });
  const Program live =
      trace([&](Score s, Index, Index, Index q, Index kv) { return s + none(kv + q); });
  expect_all(program);
  for (const PassMaker& maker : pass_makers())
    EXPECT_EQ(fault_of(maker, live, {.rows = 1, .cols = 16, .col_end = 16}).index, 0);
}

}  // namespace
}  // namespace tilewright::test
