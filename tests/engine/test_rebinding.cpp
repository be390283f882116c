// Captures and numbers rebound by name.

#include "engine/calls.h"

namespace tilewright::cases {
namespace {

struct Prepared {
  Engine engine{cpu_options()};
  Operands operands = random_operands(square(1, 2, 70, 16), DType::kF32, 20);
  Tensor first{DType::kF32, {70}};
  Tensor second{DType::kF32, {90}};
  Number factor{"factor", 1.5};
  Number last{"last", 69};
  Program program = make();
  Attention attention = engine.prepare(program, problem_of(operands.inputs()));

  Program make() {
    Random random(21);
    first.fill_normal(random);
    second.fill_normal(random);
    const Capture bias("bias", first);
    return trace([&](Score s, Index, Index, Index, Index kv) { return s * factor + bias[kv]; },
                 [&](Index, Index, Index, Index kv) { return kv <= last; });
  }

  std::string run() {
    const Results results = results_for(operands.inputs());
    attention.forward(operands.inputs(), results.outputs());
    return cases::mismatch(results, attention.program(), operands.inputs());
  }
};

TEST(Rebinding, ReachesTheNextCallWithoutCompiling) {
  Prepared prepared;
  EXPECT_EQ(prepared.run(), "");
  const std::int64_t compiles = prepared.engine.stats().compiles;
  prepared.attention.bind("bias", prepared.second);
  EXPECT_EQ(prepared.run(), "");
  prepared.attention.set("factor", -0.25);
  EXPECT_EQ(prepared.run(), "");
  prepared.attention.set("last", std::int64_t{12});
  EXPECT_EQ(prepared.run(), "");
  EXPECT_EQ(prepared.engine.stats().compiles, compiles);
}

TEST(Rebinding, NumbersThatWouldBeStructureInAModAreValuesHere) {
  Prepared prepared;
  for (const double factor : {0.0, 1.0, -1.0}) {
    prepared.attention.set("factor", factor);
    EXPECT_EQ(prepared.run(), "");
  }
}

TEST(Rebinding, LeavesTheTracedProgramAlone) {
  Prepared prepared;
  const std::string digest = prepared.program.content_digest();
  prepared.attention.set("factor", 9.0);
  EXPECT_EQ(prepared.program.content_digest(), digest);
  EXPECT_NE(prepared.attention.program().content_digest(), digest);
}

TEST(Rebinding, NamesWhatItDoesNotKnow) {
  Prepared prepared;
  const Error capture = error_of([&] { prepared.attention.bind("bais", prepared.second); });
  EXPECT_EQ(capture.code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(std::string(capture.what()).find("bias"), std::string::npos);
  const Error number = error_of([&] { prepared.attention.set("fcator", 1.0); });
  EXPECT_NE(std::string(number.what()).find("factor"), std::string::npos);
  Tensor other(DType::kF16, {70});
  other.fill(0.0);
  EXPECT_THROW(prepared.attention.bind("bias", other), Error);
  Tensor square_table(DType::kF32, {70, 70});
  EXPECT_THROW(prepared.attention.bind("bias", square_table), Error);
  EXPECT_THROW(prepared.attention.set("last", 0.5), Error);
  EXPECT_EQ(prepared.run(), "");
}

TEST(Rebinding, AShorterTableRaisesAtTheCallAndLaterCallsWork) {
  Prepared prepared;
  Tensor brief(DType::kF32, {10});
  brief.fill(0.0);
  prepared.attention.bind("bias", brief);
  const Error error = error_of([&] { prepared.run(); });
  EXPECT_EQ(error.code(), ErrorCode::kIndexOutOfRange);
  prepared.attention.set("last", std::int64_t{9});
  EXPECT_EQ(prepared.run(), "");
}

}  // namespace
}  // namespace tilewright::cases
