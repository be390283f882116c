// What backward refuses, before it writes anything, and that the errors name what is wrong.

#include "engine/calls.h"
#include "support/backward.h"
#include "support/entry.h"

namespace tilewright::cases {
namespace {

/// A program with a floating and an integer capture, and a step of it.
struct Setting {
  Extents extents = square(1, 2, 9, 4);
  EntryContext context{extents, 1};
  Capture bias = context.normal("bias", DType::kF32, {2});
  Capture shift = context.capture("shift", DType::kI32, {2}, [](const Dims&) { return 1.0; });
  Program program = trace([this](Score s, Index, Index h, Index q, Index kv) {
    return s + bias[h] * (q - kv + shift[h]);
  });
  TrainingStep step = step_of(random_operands(extents, DType::kF32, 2), 3);
  Gradients gradients = gradients_for(step, program);
  Engine engine{cpu_options()};

  Setting() { engine.attention(program, step.operands.inputs(), step.results.outputs()); }
  Error error(const BackwardInputs& inputs, const BackwardOutputs& outputs) {
    return error_of([&] { engine.attention_backward(program, inputs, outputs); });
  }
};

void expect_words(const Error& error, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words)
    EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
        << word << " is not in " << error.what();
}

TEST(BackwardRefuses, GradientsOfIntegers) {
  Setting setting;
  BackwardOutputs outputs = setting.gradients.outputs();
  const Tensor gradient(DType::kF32, {2});
  outputs.captures.emplace("shift", gradient.view());
  expect_words(setting.error(setting.step.inputs(), outputs), {"shift", "integers", "i32"});
}

TEST(BackwardRefuses, UnknownNames) {
  Setting setting;
  BackwardOutputs outputs = setting.gradients.outputs();
  const Tensor gradient(DType::kF32, {2});
  outputs.captures.emplace("slopes", gradient.view());
  expect_words(setting.error(setting.step.inputs(), outputs), {"slopes", "bias"});
}

TEST(BackwardRefuses, OtherShapes) {
  Setting setting;
  const BackwardInputs inputs = setting.step.inputs();
  BackwardOutputs outputs = setting.gradients.outputs();
  outputs.d_key = slice(*outputs.d_key, 2, 0, 8);
  expect_words(setting.error(inputs, outputs), {"d_key", "[1, 2, 9, 4]", "[1, 2, 8, 4]"});
  BackwardInputs short_out = inputs;
  short_out.d_out = slice(inputs.d_out, 2, 0, 8);
  expect_words(setting.error(short_out, setting.gradients.outputs()), {"d_out"});
  BackwardOutputs narrow = setting.gradients.outputs();
  const Tensor three(DType::kF32, {3});
  narrow.captures.at("bias") = three.view();
  expect_words(setting.error(inputs, narrow), {"bias", "[2]", "[3]"});
}

TEST(BackwardRefuses, MissingLse) {
  Setting setting;
  BackwardInputs inputs = setting.step.inputs();
  inputs.lse.data = nullptr;
  expect_words(setting.error(inputs, setting.gradients.outputs()), {"lse", "null"});
  inputs.lse = TensorView{};
  expect_words(setting.error(inputs, setting.gradients.outputs()), {"lse"});
}

TEST(BackwardRefuses, WrongDtypes) {
  Setting setting;
  const BackwardInputs inputs = setting.step.inputs();
  const Tensor wide(DType::kF64, {2});
  BackwardOutputs outputs = setting.gradients.outputs();
  outputs.captures.at("bias") = wide.view();
  expect_words(setting.error(inputs, outputs), {"bias", "f32", "f64"});
  BackwardInputs other_lse = inputs;
  const Tensor half = copy_as(inputs.lse, DType::kF16);
  other_lse.lse = half.view();
  expect_words(setting.error(other_lse, setting.gradients.outputs()), {"lse", "f16"});
}

TEST(BackwardRefuses, ExpandedGradients) {
  Setting setting;
  BackwardOutputs outputs = setting.gradients.outputs();
  outputs.d_query->strides[2] = 0;
  expect_words(setting.error(setting.step.inputs(), outputs), {"d_query", "expanded"});
}

TEST(BackwardRefuses, CompilingWhereThePolicyForbidsIt) {
  Setting setting;
  EngineOptions options = cpu_options();
  options.compile_policy = CompilePolicy::kForbid;
  Engine engine(options);
  Problem problem = problem_of(setting.extents);
  const Attention attention = engine.prepare(setting.program, problem);
  const BackwardOutputs outputs = setting.gradients.outputs();
  const Error error = error_of([&] { attention.backward(setting.step.inputs(), outputs); });
  EXPECT_EQ(error.code(), ErrorCode::kCompileForbidden);
  attention.prepare_backward({.captures = {"bias"}});
  attention.backward(setting.step.inputs(), outputs);
  EXPECT_EQ(mismatch(setting.gradients, gradient_reference_of(setting.program, setting.step),
                     DType::kF32),
            "");
}

}  // namespace
}  // namespace tilewright::cases
