#include "gradient_run.h"

#include "base/formatted.h"
#include "io/json.h"
#include "ir/program.h"
#include "support/backward.h"

namespace tilewright::cli {

namespace {

constexpr std::uint64_t kSeed = 4;

TensorView add_gradient(GradientRun& run, const std::string& name, const TensorView& like) {
  run.memory.push_back(make_tensor(like.dtype, like.shape));
  run.gradients.push_back({"d_" + name, run.memory.back().view});
  return run.memory.back().view;
}

BackwardOutputs make_gradients(GradientRun& run, const GradientCall& call) {
  BackwardOutputs outputs;
  outputs.d_query = add_gradient(run, "query", call.inputs.query);
  outputs.d_key = add_gradient(run, "key", call.inputs.key);
  outputs.d_value = add_gradient(run, "value", call.inputs.value);
  const auto slots = call.program.structure().captures();
  for (std::size_t slot = 0; slot < slots.size(); ++slot)
    if (is_floating(slots[slot].dtype))
      outputs.captures.emplace(
          slots[slot].name,
          add_gradient(run, slots[slot].name, call.program.bindings().captures[slot]));
  return outputs;
}

}  // namespace

GradientRun run_gradients(Engine& engine, const GradientCall& call) {
  GradientRun run;
  const BackwardOutputs outputs = make_gradients(run, call);
  BackwardInputs inputs{call.inputs.query,
                        call.inputs.key,
                        call.inputs.value,
                        call.outputs.out,
                        *call.outputs.lse,
                        {},
                        {}};
  if (call.d_out) {
    inputs.d_out = *call.d_out;
  } else {
    run.memory.push_back(make_tensor(call.outputs.out.dtype, call.outputs.out.shape));
    fill_normal(run.memory.back().view, kSeed);
    inputs.d_out = run.memory.back().view;
  }
  const auto backward = [&] {
    engine.attention_backward(call.program, inputs, outputs, call.options);
  };
  if (call.repeat > 1) backward();  // compiles; not timed
  std::vector<double> samples;
  for (std::int64_t i = 0; i < call.repeat; ++i) samples.push_back(time_once_ms(backward));
  run.timings = timings_of(std::move(samples));
  if (call.verify)
    run.mismatch =
        cases::mismatch(outputs, cases::gradient_reference_of(call.program, inputs, call.options),
                        call.inputs.query.dtype);
  return run;
}

io::Json to_json(const GradientRun& run) {
  io::Json json = {{"ms_median", run.timings.median()},
                   {"ms_least", run.timings.least()},
                   {"ms_most", run.timings.most()}};
  for (const io::NamedTensor& gradient : run.gradients)
    json["gradients"].push_back({{"name", gradient.name}, {"dtype", name(gradient.view.dtype)}});
  if (run.mismatch) json["verify"] = {{"passed", run.passed()}, {"reason", *run.mismatch}};
  return json;
}

std::string to_text(const GradientRun& run) {
  std::string text = "gradients";
  for (const io::NamedTensor& gradient : run.gradients) text += " " + gradient.name;
  text += formatted("\nbackward {:.3f} ms, median of {} ({:.3f} to {:.3f})\n", run.timings.median(),
                    run.timings.sorted_ms.size(), run.timings.least(), run.timings.most());
  if (run.mismatch)
    text += "verify   gradients: " + (run.passed() ? "passed" : "FAILED, " + *run.mismatch) + "\n";
  return text;
}

}  // namespace tilewright::cli
