#include "field_reports/report.h"

#include "support/comparison.h"

namespace tilewright::cases {

Results run_on(const Target& target, const Program& program, const ForwardInputs& inputs,
               const CallOptions& options) {
  Results results = results_for(inputs);
  engine_on(target).attention(program, inputs, results.outputs(), options);
  return results;
}

Results expect_meaning(const Program& program, const ForwardInputs& inputs,
                       const CallOptions& options) {
  const Reference reference = reference_of(program, inputs, options);
  std::optional<Results> last;
  for (const Target& target : available_targets()) {
    last.emplace(run_on(target, program, inputs, options));
    EXPECT_EQ(mismatch(*last, reference, inputs.query.dtype), "") << target.name();
  }
  return *last;
}

Results expect_meaning_once(const Program& program, const ForwardInputs& inputs) {
  Results results = run_on(fastest_target(), program, inputs);
  EXPECT_EQ(mismatch(results, reference_of(program, inputs), inputs.query.dtype), "");
  return results;
}

const Target& fastest_target() { return available_targets().back(); }

void expect_error(const Program& program, const ForwardInputs& inputs, ErrorCode code,
                  std::initializer_list<std::string_view> words, const CallOptions& options) {
  for (const Target& target : available_targets()) {
    try {
      run_on(target, program, inputs, options);
      ADD_FAILURE() << target.name() << " accepted it";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << target.name() << ": " << error.what();
      for (const std::string_view word : words)
        EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
            << target.name() << ": no '" << word << "' in: " << error.what();
    }
  }
}

void expect_same_bits(const Results& a, const Results& b) {
  EXPECT_EQ(compare_bits(a.out, b.out).reason, "");
  EXPECT_EQ(compare_bits(*a.lse, *b.lse).reason, "");
  EXPECT_EQ(compare_bits(*a.max_scores, *b.max_scores).reason, "");
}

std::vector<Extents> ragged_extents() {
  std::vector<Extents> found;
  for (const auto& [q_len, kv_len] : {std::pair{63, 64}, std::pair{64, 50}, std::pair{100, 77}})
    found.push_back({.query_heads = 8,
                     .kv_heads = 4,
                     .q_len = q_len,
                     .kv_len = kv_len,
                     .head_dim = 64,
                     .value_dim = 64});
  return found;
}

Tensor half_visible(const Extents& extents) {
  Tensor table(DType::kBool, {extents.q_len, extents.kv_len});
  Random random(19);
  table.fill([&](const Dims& at) {
    return at[0] != 5 && at[0] != extents.q_len - 1 && random.chance(0.5);
  });
  return table;
}

}  // namespace tilewright::cases
