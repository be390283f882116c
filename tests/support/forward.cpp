#include "support/forward.h"

#include "backends/reference/forward.h"
#include "ir/interpret.h"
#include "support/fill.h"

namespace tilewright::cases {

namespace {

void append(std::string& text, const char* output, const Verdict& verdict) {
  if (!verdict.passed)
    text += std::string(text.empty() ? "" : "; ") + output + ": " + verdict.reason;
}

Extents extents_of(const ForwardInputs& inputs) {
  return {.batch = inputs.query.shape[0],
          .kv_batch = inputs.key.shape[0],
          .query_heads = inputs.query.shape[1],
          .kv_heads = inputs.key.shape[1],
          .q_len = inputs.query.shape[2],
          .kv_len = inputs.key.shape[2],
          .head_dim = inputs.query.shape[3],
          .value_dim = inputs.value.shape[3]};
}

}  // namespace

Extents square(std::int64_t batch, std::int64_t heads, std::int64_t length, std::int64_t dim) {
  return {.batch = batch,
          .kv_batch = batch,
          .query_heads = heads,
          .kv_heads = heads,
          .q_len = length,
          .kv_len = length,
          .head_dim = dim,
          .value_dim = dim};
}

Operands filled_operands(const Extents& extents, DType dtype) {
  Operands operands{.query = Tensor(dtype, extents.query_shape()),
                    .key = Tensor(dtype, extents.key_shape()),
                    .value = Tensor(dtype, extents.value_shape())};
  fill_with(operands.query, 1);
  fill_with(operands.key, 2);
  fill_with(operands.value, 3);
  return operands;
}

Operands random_operands(const Extents& extents, DType dtype, std::uint64_t seed, Layout layout) {
  Random random(seed);
  const auto make = [&](const Dims& shape) {
    Tensor tensor(TensorSpec{.dtype = dtype, .shape = shape, .layout = layout});
    tensor.fill_normal(random);
    return tensor;
  };
  Tensor query = make(extents.query_shape());
  Tensor key = make(extents.key_shape());
  return {.query = std::move(query), .key = std::move(key), .value = make(extents.value_shape())};
}

ForwardOutputs Results::outputs() const {
  ForwardOutputs outputs{.out = out.view(), .lse = {}, .max_scores = {}};
  if (lse) outputs.lse = lse->view();
  if (max_scores) outputs.max_scores = max_scores->view();
  return outputs;
}

bool Results::padding_intact() const {
  return out.padding_intact() && (!lse || lse->padding_intact()) &&
         (!max_scores || max_scores->padding_intact());
}

Results results_for(const ForwardInputs& inputs, const ResultSpec& spec) {
  const DType dtype = inputs.query.dtype;
  const DType row_dtype = dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  const Dims rows{inputs.query.shape[0], inputs.query.shape[1], inputs.query.shape[2]};
  Dims out_shape = rows;
  out_shape.push_back(inputs.value.shape[3]);
  const auto make = [&](DType of, const Dims& shape) {
    const Layout layout = spec.layout == Layout::kExpanded ? Layout::kContiguous : spec.layout;
    return Tensor(TensorSpec{.dtype = of, .shape = shape, .layout = layout});
  };
  Results results{
      .out = make(spec.out_dtype.value_or(dtype), out_shape), .lse = {}, .max_scores = {}};
  if (spec.lse) results.lse = make(row_dtype, rows);
  if (spec.max_scores) results.max_scores = make(row_dtype, rows);
  return results;
}

Reference::Reference(const Extents& extents, std::function<Tensor()> plain_arithmetic)
    : out(DType::kF64, extents.out_shape()),
      lse(DType::kF64, extents.row_shape()),
      max_scores(DType::kF64, extents.row_shape()),
      plain_arithmetic_(std::move(plain_arithmetic)) {}

const Tensor& Reference::plain_out() const {
  if (!plain_out_) plain_out_.emplace(plain_arithmetic_());
  return *plain_out_;
}

Problem problem_of(const Extents& extents) {
  Problem problem;
  problem.batch = extents.batch;
  problem.kv_batch = extents.kv_batch;
  problem.query_heads = extents.query_heads;
  problem.kv_heads = extents.kv_heads;
  problem.q_len = extents.q_len;
  problem.kv_len = extents.kv_len;
  problem.head_dim = extents.head_dim;
  problem.value_dim = extents.value_dim;
  return problem;
}

Problem problem_of(const ForwardInputs& inputs, const CallOptions& options) {
  Problem problem = problem_of(extents_of(inputs));
  problem.query_dtype = inputs.query.dtype;
  problem.key_dtype = inputs.key.dtype;
  problem.value_dtype = inputs.value.dtype;
  problem.out_dtype = inputs.query.dtype;
  problem.scale = options.scale;
  return problem;
}

Reference reference_of(const Program& program, const ForwardInputs& inputs,
                       const CallOptions& options, std::optional<DType> out_dtype) {
  const auto run = [=](reference::Arithmetic arithmetic, const ForwardOutputs& outputs) {
    const Problem problem = problem_of(inputs, options);
    std::optional<reference::ListedTiles> listed;
    if (options.block_lists) listed.emplace(*options.block_lists, problem);
    const reference::ForwardCall call{.program = program.structure(),
                                      .bindings = program.bindings(),
                                      .problem = problem,
                                      .listed = listed ? &*listed : nullptr,
                                      .arithmetic = arithmetic};
    reference::forward(call, inputs, outputs);
  };
  const Extents extents = extents_of(inputs);
  Reference reference(extents, [=] {
    Tensor plain(out_dtype.value_or(inputs.query.dtype), extents.out_shape());
    run(reference::Arithmetic::kPlain, {.out = plain.view(), .lse = {}, .max_scores = {}});
    return plain;
  });
  run(reference::Arithmetic::kMeaning,
      {reference.out.view(), reference.lse.view(), reference.max_scores.view()});
  return reference;
}

Verdict compare_out(const TensorView& out, const Reference& reference, DType dtype) {
  const Verdict strict = compare_out(out, reference.out, reference.out, dtype);
  return strict.passed ? strict : compare_out(out, reference.out, reference.plain_out(), dtype);
}

std::string mismatch(const Results& results, const Reference& reference, DType dtype) {
  std::string text;
  append(text, "out", compare_out(results.out, reference, dtype));
  if (results.lse) append(text, "lse", compare_rows(*results.lse, reference.lse, dtype));
  if (results.max_scores)
    append(text, "max_scores", compare_rows(*results.max_scores, reference.max_scores, dtype));
  if (!results.padding_intact()) text += " bytes between elements were written";
  return text;
}

std::int64_t live_pairs(const Program& program, const Extents& extents) {
  ir::Interpreter interpreter(program.structure(), program.bindings());
  std::int64_t live = 0;
  for_each_index({extents.batch, extents.query_heads, extents.q_len, extents.kv_len},
                 [&](const Dims& at) { live += interpreter.mask({at[0], at[1], at[2], at[3]}); });
  return live;
}

}  // namespace tilewright::cases
