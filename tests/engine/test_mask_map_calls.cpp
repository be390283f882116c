// Calls that bring the spans of their mask.

#include "engine/calls.h"
#include "support/comparison.h"
#include "tilewright/mask_map.h"

namespace tilewright::cases {
namespace {

constexpr std::int64_t kLength = 300;

/// Two documents of a mask that reads a table.
struct Documents {
  Tensor ids{DType::kI32, {kLength}};
  Program program;

  explicit Documents(std::int64_t first) {
    ids.fill([&](const Dims& at) { return at[0] < first ? 0.0 : 1.0; });
    const Capture document("document", ids);
    program = trace([&](Index, Index, Index q, Index kv) {
      return (Index(document[q]) == Index(document[kv])) & (q >= kv);
    });
  }
};

MaskMapOptions map_options(std::int64_t q_block = 128) {
  return {.q_len = kLength, .kv_len = kLength, .q_block = q_block};
}

TEST(MaskMapCalls, GiveTheBitsOfACallThatMakesItsOwn) {
  const Documents documents(130);
  const Operands operands = random_operands(square(2, 3, kLength, 32), DType::kF32, 60);
  Engine engine(cpu_options());
  const Results own = call(engine, documents.program, operands.inputs());
  EXPECT_EQ(mismatch(own, documents.program, operands.inputs()), "");
  const Attention attention =
      engine.prepare(documents.program, problem_of(square(2, 3, kLength, 32)));
  for (const std::int64_t q_block : {16, 64, 128, 1000}) {
    const MaskMap map = MaskMap::build(documents.program, map_options(q_block));
    const Results brought = results_for(operands.inputs());
    engine.attention(documents.program, operands.inputs(), brought.outputs(),
                     {.scale = {}, .block_lists = nullptr, .mask_map = &map});
    EXPECT_EQ(mismatch(brought, documents.program, operands.inputs()), "") << q_block;
    const Results prepared = results_for(operands.inputs());
    attention.forward(operands.inputs(), prepared.outputs(), {.mask_map = &map});
    EXPECT_EQ(compare_bits(brought.out, prepared.out).reason, "") << q_block;
  }
}

TEST(MaskMapCalls, RefuseAMapOfAnotherCall) {
  const Documents documents(130);
  const Documents others(170);
  const Operands operands = random_operands(square(1, 1, kLength, 16), DType::kF32, 61);
  Engine engine(cpu_options());
  const auto refusal = [&](const Program& program, const MaskMapOptions& options) {
    const MaskMap map = MaskMap::build(program, options);
    const Results results = results_for(operands.inputs());
    return error_of([&] {
      engine.attention(documents.program, operands.inputs(), results.outputs(),
                       {.scale = {}, .block_lists = nullptr, .mask_map = &map});
    });
  };
  EXPECT_EQ(refusal(others.program, map_options()).parts().got, "another tensor for 'document'");
  EXPECT_EQ(refusal(causal(), map_options()).parts().got, "another structure");
  MaskMapOptions longer = map_options();
  longer.kv_len = 299;
  EXPECT_NE(std::string(refusal(documents.program, longer).what()).find("299"), std::string::npos);
  MaskMapOptions moved = map_options();
  moved.q_base = 7;
  EXPECT_NE(refusal(documents.program, moved).parts().got.find("q_base 7"), std::string::npos);
}

TEST(MaskMapCalls, RefuseOtherNumbersAndAMapOfLists) {
  const auto window = [](std::int64_t width) {
    return trace([=](Index, Index, Index q, Index kv) { return (q >= kv) & (q - kv < width); });
  };
  const MaskMap map = MaskMap::build(window(9), map_options());
  EXPECT_NO_THROW(map.require_describes(window(9)));
  EXPECT_EQ(error_of([&] { map.require_describes(window(10)); }).parts().got, "other numbers");
  const auto lists = map.to_block_lists(128, 128);
  const MaskMap from_lists = MaskMap::from_block_lists(lists->lists);
  EXPECT_EQ(error_of([&] { from_lists.require_describes(window(9)); }).parts().got,
            "a map of block lists");
}

}  // namespace
}  // namespace tilewright::cases
