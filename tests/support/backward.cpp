#include "support/backward.h"

#include <cmath>
#include <vector>

#include "backends/reference/backward.h"
#include "support/comparison.h"

namespace tilewright::cases {

namespace {

DType row_dtype(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

ir::DerivativeRequest everything(const Program& program) {
  ir::DerivativeRequest request;
  for (const ir::CaptureSlot& slot : program.structure().captures())
    request.captures.push_back(is_floating(slot.dtype));
  return request;
}

/// Gradients in the dtypes of the call, or all of them in one.
Gradients make(const BackwardInputs& inputs, const Program& program, std::optional<DType> dtype,
               bool captures, Layout layout) {
  const auto tensor = [&](const TensorView& like) {
    return Tensor(
        TensorSpec{.dtype = dtype.value_or(like.dtype), .shape = like.shape, .layout = layout});
  };
  Gradients gradients{.d_query = tensor(inputs.query),
                      .d_key = tensor(inputs.key),
                      .d_value = tensor(inputs.value),
                      .captures = {}};
  const auto slots = program.structure().captures();
  for (std::size_t slot = 0; captures && slot < slots.size(); ++slot) {
    if (!is_floating(slots[slot].dtype)) continue;
    const TensorView& view = program.bindings().captures[slot];
    gradients.captures.emplace(slots[slot].name, Tensor(dtype.value_or(view.dtype), view.shape));
  }
  return gradients;
}

struct Arithmetic {
  reference::Arithmetic arithmetic;
  std::optional<DType> dtype;  ///< of every tensor; absent: the call's
};

Gradients dense_gradients(const Program& program, const BackwardInputs& given,
                          const CallOptions& options, const Arithmetic& how) {
  const auto copied = [&](const TensorView& view) {
    return copy_as(view, how.dtype.value_or(view.dtype));
  };
  const Tensor query = copied(given.query), key = copied(given.key), value = copied(given.value);
  const Tensor d_out = copied(given.d_out);
  std::optional<Tensor> d_lse;
  if (given.d_lse) d_lse.emplace(copied(*given.d_lse));
  Tensor out(how.dtype.value_or(given.query.dtype), given.out.shape);
  Tensor lse(row_dtype(query.view().dtype), given.lse.shape);
  const ForwardInputs forward_inputs{query, key, value};
  const Problem problem = problem_of(forward_inputs, options);
  std::optional<reference::ListedTiles> listed;
  if (options.block_lists != nullptr) listed.emplace(*options.block_lists, problem);
  reference::forward({.program = program.structure(),
                      .bindings = program.bindings(),
                      .problem = problem,
                      .listed = listed ? &*listed : nullptr,
                      .arithmetic = how.arithmetic},
                     forward_inputs, {.out = out, .lse = lse.view(), .max_scores = {}});
  BackwardInputs inputs{query, key, value, out, lse, d_out, {}};
  if (d_lse) inputs.d_lse = d_lse->view();
  Gradients gradients = make(inputs, program, how.dtype, true, Layout::kContiguous);
  const ir::Derivative derivative = ir::differentiate(program.structure(), everything(program));
  reference::backward({.program = program.structure(),
                       .derivative = derivative,
                       .bindings = program.bindings(),
                       .problem = problem,
                       .listed = listed ? &*listed : nullptr,
                       .arithmetic = how.arithmetic},
                      inputs, gradients.outputs());
  return gradients;
}

void append(std::string& text, const std::string& name, const std::string& reason) {
  if (!reason.empty()) text += (text.empty() ? "" : "; ") + name + ": " + reason;
}

/// compare(get) for every gradient, where get takes it out of BackwardOutputs.
template <class Compare>
std::string over_all(const BackwardOutputs& gradients, const Compare& compare) {
  std::string text;
  append(text, "d_query", compare([](const BackwardOutputs& g) { return *g.d_query; }));
  append(text, "d_key", compare([](const BackwardOutputs& g) { return *g.d_key; }));
  append(text, "d_value", compare([](const BackwardOutputs& g) { return *g.d_value; }));
  for (const auto& entry : gradients.captures) {
    const std::string& name = entry.first;
    append(text, name, compare([&name](const BackwardOutputs& g) { return g.captures.at(name); }));
  }
  return text;
}

}  // namespace

BackwardInputs TrainingStep::inputs() const {
  BackwardInputs inputs{
      operands.query, operands.key, operands.value, results.out, *results.lse, d_out, {}};
  if (d_lse) inputs.d_lse = d_lse->view();
  return inputs;
}

TrainingStep step_of(Operands operands, std::uint64_t seed, const StepSpec& spec) {
  ResultSpec wanted;
  wanted.max_scores = false;
  Results results = results_for(operands.inputs(), wanted);
  Random random(seed);
  Tensor d_out(TensorSpec{.dtype = spec.d_out_dtype.value_or(operands.query.view().dtype),
                          .shape = results.out.shape(),
                          .layout = spec.d_out_layout});
  d_out.fill_normal(random);
  TrainingStep step{.operands = std::move(operands),
                    .results = std::move(results),
                    .d_out = std::move(d_out),
                    .d_lse = {}};
  if (!spec.d_lse) return step;
  step.d_lse.emplace(step.results.lse->view().dtype, step.results.lse->shape());
  // Of one sign: then sums over rows do not cancel either.
  step.d_lse->fill([&](const Dims&) { return 1 + std::abs(random.normal()); });
  return step;
}

BackwardOutputs Gradients::outputs() const {
  BackwardOutputs outputs{
      .d_query = d_query.view(), .d_key = d_key.view(), .d_value = d_value.view(), .captures = {}};
  for (const auto& [name, gradient] : captures) outputs.captures.emplace(name, gradient.view());
  return outputs;
}

bool Gradients::padding_intact() const {
  for (const auto& [name, gradient] : captures)
    if (!gradient.padding_intact()) return false;
  return d_query.padding_intact() && d_key.padding_intact() && d_value.padding_intact();
}

Gradients gradients_for(const TrainingStep& step, const Program& program, bool everything,
                        Layout layout) {
  return make(step.inputs(), program, {}, everything, layout);
}

GradientReference gradient_reference_of(const Program& program, const BackwardInputs& inputs,
                                        const CallOptions& options) {
  return {.meaning = dense_gradients(
              program, inputs, options,
              {.arithmetic = reference::Arithmetic::kMeaning, .dtype = DType::kF64}),
          .plain = dense_gradients(program, inputs, options,
                                   {.arithmetic = reference::Arithmetic::kPlain, .dtype = {}})};
}

std::string mismatch(const BackwardOutputs& gradients, const GradientReference& reference,
                     DType dtype) {
  const BackwardOutputs meaning = reference.meaning.outputs();
  const BackwardOutputs plain = reference.plain.outputs();
  return over_all(gradients, [&](const auto& of) {
    return compare_gradient(of(gradients), of(meaning), of(plain), dtype).reason;
  });
}

std::string mismatch(const Gradients& gradients, const GradientReference& reference, DType dtype) {
  std::string text = mismatch(gradients.outputs(), reference, dtype);
  if (!gradients.padding_intact()) text += " bytes between elements were written";
  return text;
}

std::string bit_difference(const Gradients& a, const Gradients& b) {
  const BackwardOutputs left = a.outputs(), right = b.outputs();
  return over_all(left, [&](const auto& of) { return compare_bits(of(left), of(right)).reason; });
}

Gradients train(Engine& engine, const Program& program, TrainingStep& step,
                const CallOptions& options) {
  engine.attention(program, step.operands.inputs(), step.results.outputs(), options);
  Gradients gradients = gradients_for(step, program);
  engine.attention_backward(program, step.inputs(), gradients.outputs(), options);
  return gradients;
}

}  // namespace tilewright::cases
