// T05: captured tensors.

#include "field_reports/report.h"

namespace tilewright::cases {
namespace {

Tensor guarded(DType dtype, const Dims& shape, const std::function<double(const Dims&)>& value) {
  Tensor tensor(TensorSpec{.dtype = dtype,
                           .shape = shape,
                           .layout = Layout::kContiguous,
                           .placement = Placement::kGuardAfter});
  tensor.fill(value);
  return tensor;
}

TEST(FieldReport, C044DeadLanesNeverReadPastACapture) {
  const Tensor buffer =
      guarded(DType::kI64, {127}, [](const Dims& at) { return static_cast<double>(at[0] % 5); });
  const Capture buf("buf", buffer);
  const Program program =
      trace([&](Score s, Index, Index, Index, Index kv) { return s + buf[kv]; },
            [](Index, Index, Index q, Index kv) { return (kv < 127) & (kv <= q); });
  expect_meaning(program, random_operands(square(1, 2, 128, 16), DType::kF32, 44).inputs());
}

TEST(FieldReport, GuardedSubscriptsReadOnlyWhatTheirConditionAllows) {
  const Tensor buffer =
      guarded(DType::kF32, {50}, [](const Dims& at) { return 0.1 * static_cast<double>(at[0]); });
  const Capture buf("buf", buffer);
  const Program program = trace([&](Score s, Index, Index, Index, Index kv) -> Value {
    if (kv < 50) return s + buf[kv];
    return s;
  });
  expect_meaning(program, random_operands(square(1, 1, 140, 16), DType::kF32, 45).inputs());
}

TEST(FieldReport, C046LiveReadPastATableNamesIt) {
  const Tensor ids =
      guarded(DType::kI32, {240}, [](const Dims& at) { return static_cast<double>(at[0] / 60); });
  const Capture document("document", ids);
  const Program program = trace(
      [&](Index, Index, Index q, Index kv) { return Index(document[q]) == Index(document[kv]); });
  const Operands operands = random_operands(square(1, 1, 256, 16), DType::kF32, 46);
  expect_error(program, operands.inputs(), ErrorCode::kIndexOutOfRange, {"document", "240"});
  // The engine stays usable.
  expect_meaning(causal(), operands.inputs());
}

TEST(FieldReport, C046TilesThatWouldBeFullAnywayAreReadToo) {
  const Tensor zeros = guarded(DType::kI32, {10}, [](const Dims&) { return 0.0; });
  const Capture ids("ids", zeros);
  const Program full =
      trace([&](Index, Index, Index, Index kv) { return Index(ids[kv]) == Index(0); });
  const Program empty = trace(
      [&](Index, Index, Index q, Index kv) { return (kv < 0) & (Index(ids[q]) == Index(0)); });
  const Operands operands = random_operands(square(1, 1, 70, 16), DType::kF32, 48);
  for (const Program& program : {full, empty})
    expect_error(program, operands.inputs(), ErrorCode::kIndexOutOfRange, {"ids", "10"});
}

TEST(FieldReport, LiveReadOfAScoreTableNamesItToo) {
  const Tensor table =
      guarded(DType::kF32, {90}, [](const Dims& at) { return static_cast<double>(at[0]); });
  const Capture bias("bias", table);
  const Program program = trace([&](Score s, Index, Index, Index q, Index) { return s + bias[q]; });
  expect_error(program, random_operands(square(1, 1, 100, 16), DType::kF32, 47).inputs(),
               ErrorCode::kIndexOutOfRange, {"bias", "90"});
}

TEST(FieldReport, NegativeSubscriptsWrapOnce) {
  const Tensor table = guarded(DType::kF32, {40},
                               [](const Dims& at) { return 0.3 * static_cast<double>(at[0] % 9); });
  const Capture bias("bias", table);
  const Operands operands = random_operands(square(1, 1, 40, 16), DType::kF32, 48);
  expect_meaning(trace([&](Score s, Index, Index, Index q, Index kv) { return s + bias[q - kv]; }),
                 operands.inputs());
  expect_error(
      trace([&](Score s, Index, Index, Index q, Index kv) { return s + bias[q - kv - 2]; }),
      operands.inputs(), ErrorCode::kIndexOutOfRange, {"bias", "-41"});
}

TEST(FieldReport, C049HeadSubscriptOutsideABatchTable) {
  Tensor ids(DType::kI32, {2, 1, 64});
  ids.fill(1.0);
  const Capture document("document", ids);
  const Program program = trace([&](Index b, Index h, Index q, Index kv) {
    return Index(document[b][h][q]) == Index(document[b][h][kv]);
  });
  expect_error(program, random_operands(square(2, 8, 64, 16), DType::kF32, 49).inputs(),
               ErrorCode::kIndexOutOfRange, {"document"});
}

TEST(FieldReport, C050OffsetAsScalarOrAsOneElement) {
  std::int32_t value = 30;
  const Capture scalar("offset", contiguous(&value, DType::kI32, {}));
  const Capture single("offset", contiguous(&value, DType::kI32, {1}));
  const Extents extents{
      .query_heads = 2, .kv_heads = 2, .q_len = 20, .kv_len = 50, .head_dim = 16, .value_dim = 16};
  const Operands operands = random_operands(extents, DType::kF32, 50);
  const Results a = expect_meaning(
      trace([&](Index, Index, Index q, Index kv) { return q + scalar >= kv; }), operands.inputs());
  const Results b =
      expect_meaning(trace([&](Index, Index, Index q, Index kv) { return q + single[0] >= kv; }),
                     operands.inputs());
  expect_same_bits(a, b);
  // Without its subscript a tensor of rank 1 is no scalar, and the message says so.
  try {
    trace([&](Index, Index, Index q, Index kv) { return q + single >= kv; });
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("offset"), std::string::npos) << error.what();
  }
}

TEST(FieldReport, C051CaptureOnAnotherDeviceNamesBoth) {
  Tensor table(DType::kI32, {4, 4});
  table.fill([](const Dims& at) { return static_cast<double>(at[0] * 4 + at[1]); });
  TensorView elsewhere = table.view();
  elsewhere.device = {.kind = DeviceKind::kCuda, .ordinal = 1};
  const auto program_with = [](const TensorView& view) {
    const Capture tbl("tbl", view);
    return trace([&](Score s, Index, Index, Index q, Index kv) {
      return s + 0.1 * Score(tbl[floor_mod(q, 4)][floor_mod(kv, 4)]);
    });
  };
  const Operands operands = random_operands(square(1, 1, 20, 16), DType::kF32, 51);
  expect_error(program_with(elsewhere), operands.inputs(), ErrorCode::kInvalidArgument,
               {"tbl", "cuda:1", "cpu"});
  expect_meaning(program_with(table), operands.inputs());
}

TEST(FieldReport, UnboundCaptureNamesItself) {
  Tensor table(DType::kF32, {40});
  table.fill(0.5);
  const Capture bias("bias", table);
  Program program = Program::parse(
      trace([&](Score s, Index, Index, Index q, Index) { return s + bias[q]; }).text());
  const Operands operands = random_operands(square(1, 1, 40, 16), DType::kF32, 52);
  expect_error(program, operands.inputs(), ErrorCode::kInvalidArgument, {"bias"});
  program.bind("bias", table);
  expect_meaning(program, operands.inputs());
}

}  // namespace
}  // namespace tilewright::cases
