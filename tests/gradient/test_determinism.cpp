// The same bits on every run, for any number of threads, in any order of tasks, and whatever the
// batch around a row is.

#include <atomic>
#include <thread>

#include "engine/calls.h"
#include "support/backward.h"
#include "support/comparison.h"
#include "support/every_subscript.h"

namespace tilewright::cases {
namespace {

Gradients train_with(EngineOptions options, const Program& program, TrainingStep& step) {
  Engine engine(std::move(options));
  return train(engine, program, step);
}

EngineOptions with_threads(int threads) {
  EngineOptions options = cpu_options();
  options.threads = threads;
  return options;
}

/// Tasks on threads of their own, the last one first.
EngineOptions with_backward_tasks() {
  EngineOptions options = cpu_options();
  options.threads = 5;
  options.host.parallel_for = [](std::int64_t count,
                                 const std::function<void(std::int64_t)>& body) {
    std::vector<std::thread> threads;
    for (std::int64_t i = count; i-- > 0;)
      if (threads.size() < 8)
        threads.emplace_back([&body, i] { body(i); });
      else
        body(i);
    for (std::thread& thread : threads) thread.join();
  };
  return options;
}

/// Every task on the calling thread, the last one first.
EngineOptions with_one_thread_backwards() {
  EngineOptions options = cpu_options();
  options.threads = 5;
  options.host.parallel_for = [](std::int64_t count,
                                 const std::function<void(std::int64_t)>& body) {
    for (std::int64_t i = count; i-- > 0;) body(i);
  };
  return options;
}

Extents several_units() {
  Extents extents = square(2, 4, 150, 16);
  extents.kv_heads = 2;
  extents.kv_len = 700;
  return extents;
}

TEST(Deterministic, ForAnyNumberOfThreads) {
  EntryContext context(several_units(), 41);
  const Program program = every_subscript(context);
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    TrainingStep step = step_of(random_operands(context.extents, dtype, 42), 43);
    const Gradients first = train_with(with_threads(1), program, step);
    for (const int threads : {2, 3, 8, 16})
      EXPECT_EQ(bit_difference(train_with(with_threads(threads), program, step), first), "")
          << threads;
    EXPECT_EQ(bit_difference(train_with(with_backward_tasks(), program, step), first), "");
    EXPECT_EQ(bit_difference(train_with(with_one_thread_backwards(), program, step), first), "");
  }
}

TEST(Deterministic, WithOneCopyOfACapture) {
  // Separated by keys alone: strips of different heads take turns.
  Extents extents = square(1, 3, 60, 8);
  extents.kv_len = 400;
  EntryContext context(extents, 44);
  const Capture dense = context.normal("dense", DType::kF32, {60, 400});
  const Program program =
      trace([&](Score s, Index, Index, Index q, Index kv) { return s + dense[q][kv]; },
            [](Index, Index, Index q, Index kv) { return kv <= 3 * q + 200; });
  TrainingStep step = step_of(random_operands(extents, DType::kF32, 45), 46);
  const Gradients first = train_with(with_threads(1), program, step);
  for (const int threads : {2, 7})
    EXPECT_EQ(bit_difference(train_with(with_threads(threads), program, step), first), "");
}

TEST(Deterministic, WhereTwoSubscriptsOfOneTensorMeet) {
  // Each load is separated by keys, on an axis of its own: strips of different keys share elements.
  EntryContext context(square(2, 2, 277, 8), 57);
  const Capture dense = context.normal("dense", DType::kF32, {277, 277});
  const Program program = trace(
      [&](Score s, Index, Index, Index q, Index kv) { return s + dense[q][kv] + dense[kv][q]; });
  TrainingStep step = step_of(random_operands(context.extents, DType::kF32, 58), 59);
  const Gradients first = train_with(with_threads(1), program, step);
  Engine engine(with_threads(3));
  for (int run = 0; run < 40; ++run)
    ASSERT_EQ(bit_difference(train(engine, program, step), first), "") << run;
}

TEST(Deterministic, AThousandRuns) {
  EntryContext context(square(1, 2, 70, 8), 47);
  const Program program = every_subscript(context);
  TrainingStep step = step_of(random_operands(context.extents, DType::kF32, 48), 49);
  Engine engine(with_threads(3));
  const Gradients first = train(engine, program, step);
  for (int run = 0; run < 1000; ++run) {
    const Gradients again = gradients_for(step, program);
    engine.attention_backward(program, step.inputs(), again.outputs());
    ASSERT_EQ(bit_difference(again, first), "") << run;
  }
}

TEST(Deterministic, UnderConcurrentCalls) {
  EntryContext context(square(1, 2, 200, 16), 50);
  const Program program = every_subscript(context);
  TrainingStep step = step_of(random_operands(context.extents, DType::kF32, 51), 52);
  Engine engine(with_threads(2));
  const Gradients first = train(engine, program, step);
  std::vector<std::string> reasons(4);
  std::vector<std::thread> threads;
  for (std::string& reason : reasons)
    threads.emplace_back([&] {
      for (int run = 0; run < 10; ++run) {
        const Gradients again = gradients_for(step, program);
        engine.attention_backward(program, step.inputs(), again.outputs());
        reason += bit_difference(again, first);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& reason : reasons) EXPECT_EQ(reason, "");
}

TEST(Deterministic, WithBlockListsGroupsAndCaptures) {
  Extents extents = square(2, 4, 190, 16);
  extents.kv_heads = 2;
  EntryContext context(extents, 55);
  const Program program = every_subscript(context);
  TrainingStep step = step_of(random_operands(extents, DType::kBF16, 56), 57, {.d_lse = true});
  Tensor counts(DType::kI32, {1, 4, 3}), indices(DType::kI32, {1, 4, 3, 3});
  counts.fill([](const Dims& at) { return static_cast<double>((at[1] + at[2]) % 3 + 1); });
  indices.fill([](const Dims& at) { return static_cast<double>((at[3] + at[2] + at[1]) % 3); });
  const BlockLists lists{.q_len = 190,
                         .kv_len = 190,
                         .q_block = 64,
                         .kv_block = 64,
                         .kv_num_blocks = counts.view(),
                         .kv_indices = indices.view(),
                         .full_kv_num_blocks = {},
                         .full_kv_indices = {}};
  const CallOptions options{.block_lists = &lists, .deterministic = true};
  Engine one(with_threads(1));
  const Gradients first = train(one, program, step, options);
  EXPECT_EQ(mismatch(first, gradient_reference_of(program, step, options), DType::kBF16), "");
  for (const int threads : {2, 3, 7}) {
    Engine engine(with_threads(threads));
    for (int run = 0; run < 100; ++run)
      ASSERT_EQ(bit_difference(train(engine, program, step, options), first), "")
          << threads << " threads, run " << run;
  }
}

TEST(Deterministic, IsWhatEveryReportSays) {
  TrainingStep step = step_of(random_operands(square(1, 2, 70, 8), DType::kF32, 58), 59);
  for (const bool asked : {false, true}) {
    Engine engine(with_threads(2));
    const CallOptions options{.deterministic = asked};
    EXPECT_TRUE(engine.attention(causal(), step.operands.inputs(), step.results.outputs(), options)
                    .deterministic);
    const Gradients gradients = gradients_for(step, causal());
    EXPECT_TRUE(engine.attention_backward(causal(), step.inputs(), gradients.outputs(), options)
                    .deterministic);
  }
}

TEST(BatchInvariant, ARowDoesNotDependOnItsNeighbours) {
  const Extents extents = square(5, 4, 140, 16);
  TrainingStep step = step_of(random_operands(extents, DType::kF32, 53), 54);
  Engine engine(with_threads(4));
  const Gradients whole = train(engine, causal(), step);
  const auto entry = [](const TensorView& view) { return slice(view, 0, 3, 4); };
  const BackwardInputs all = step.inputs();
  const BackwardInputs one{entry(all.query),
                           entry(all.key),
                           entry(all.value),
                           entry(all.out),
                           entry(all.lse),
                           entry(all.d_out),
                           {}};
  const Tensor d_query(DType::kF32, {1, 4, 140, 16});
  const Tensor d_key(DType::kF32, {1, 4, 140, 16});
  const Tensor d_value(DType::kF32, {1, 4, 140, 16});
  engine.attention_backward(causal(), one, {d_query.view(), d_key.view(), d_value.view(), {}});
  EXPECT_EQ(compare_bits(d_query, entry(whole.d_query)).reason, "");
  EXPECT_EQ(compare_bits(d_key, entry(whole.d_key)).reason, "");
  EXPECT_EQ(compare_bits(d_value, entry(whole.d_value)).reason, "");
}

}  // namespace
}  // namespace tilewright::cases
