#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attention_inputs.h"
#include "base/formatted.h"
#include "console.h"
#include "device_place.h"
#include "engine_flags.h"
#include "exit_code.h"
#include "gradient_run.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "meaning_check.h"
#include "mod_options.h"
#include "owned_tensor.h"
#include "piece_check.h"
#include "progress.h"
#include "replay.h"
#include "timing.h"
#include "verb.h"

namespace tilewright::cli {

namespace {

struct RunCommand {
  ModOptions mods;
  InputOptions inputs;
  EngineOptions engine;
  std::optional<double> scale;
  std::string device;
  bool lse = false;
  bool max_scores = false;
  bool grad = false;
  bool verify = false;
  std::string alone;
  std::string out;
  std::int64_t repeat = 1;
  std::string replay;
  bool json = false;
};

/// Outputs of the call with their memory.
struct RunOutputs {
  OwnedTensor out;
  std::optional<OwnedTensor> lse, max_scores;

  ForwardOutputs views() const {
    ForwardOutputs views{.out = out.view, .lse = {}, .max_scores = {}};
    if (lse) views.lse = lse->view;
    if (max_scores) views.max_scores = max_scores->view;
    return views;
  }
};

/// What the verb found.
struct RunResult {
  CallReport report;
  Timings timings;
  double compile_ms = 0;
  TensorView out;
  std::optional<MeaningCheck> meaning;
  std::optional<PieceCheck> pieces;
  std::optional<GradientRun> gradients;

  bool passed() const {
    return (!meaning || meaning->passed) && (!gradients || gradients->passed()) &&
           (!pieces || pieces->passed == pieces->pieces);
  }
};

RunOutputs make_outputs(const RunCommand& command, const ForwardInputs& inputs) {
  const Dims& query = inputs.query.shape;
  const Dims rows{query[0], query[1], query[2]};
  const DType row_dtype = inputs.query.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  RunOutputs outputs;
  outputs.out =
      make_tensor(inputs.query.dtype, {query[0], query[1], query[2], inputs.value.shape[3]});
  if (command.lse || command.verify || command.grad) outputs.lse = make_tensor(row_dtype, rows);
  if (command.max_scores || command.verify) outputs.max_scores = make_tensor(row_dtype, rows);
  return outputs;
}

void write_outputs(const RunCommand& command, const RunOutputs& outputs, const RunResult& result) {
  std::vector<io::NamedTensor> tensors{{"out", outputs.out.view}};
  if (command.lse) tensors.push_back({"lse", outputs.lse->view});
  if (command.max_scores) tensors.push_back({"max_scores", outputs.max_scores->view});
  if (result.gradients)
    tensors.insert(tensors.end(), result.gradients->gradients.begin(),
                   result.gradients->gradients.end());
  io::write_safetensors(command.out, tensors);
}

PieceCheck compare_with_pieces(const RunCommand& command, OpenFiles& files, Engine& engine,
                               const LoadedInputs& loaded, const TensorView& out) {
  ModOptions unmasked = command.mods;
  unmasked.mask.clear();
  const Problem problem = problem_from(loaded.views, {.out = out, .lse = {}, .max_scores = {}});
  const LoadedProgram alone = load_program(unmasked, problem, files, loaded.file);
  std::optional<TensorView> bounds;
  if (loaded.file != nullptr) bounds = loaded.file->find(command.alone);
  if (!bounds) bounds = files.tensor(command.alone, "cu_seqlens");
  return check_pieces(engine, alone.program, loaded.views, out,
                      piece_bounds(*bounds, loaded.views.query.shape[2]));
}

RunResult compute(const RunCommand& command) {
  OpenFiles files;
  const LoadedInputs loaded = load_inputs(command.inputs, files);
  const RunOutputs outputs = make_outputs(command, loaded.views);
  const Problem problem = problem_from(loaded.views, outputs.views());
  const LoadedProgram mods = load_program(command.mods, problem, files, loaded.file);
  const Program& program = mods.program;
  const CallOptions options{.scale = command.scale};
  const DevicePlace place(command.device);
  std::vector<OwnedTensor> memory;
  const ForwardInputs placed_inputs = place.placed(loaded.views, memory);
  const ForwardOutputs placed_outputs = place.placed(outputs.views(), memory);
  const Program placed_program = place.placed(program, memory);
  Engine engine(command.engine);
  RunResult result;
  const auto call = [&] {
    result.report = engine.attention(placed_program, placed_inputs, placed_outputs, options);
    place.synchronise();
  };
  std::vector<double> samples;
  if (command.repeat > 1) call();  // compiles; not timed
  Progress progress("run", command.repeat);
  for (std::int64_t i = 0; i < command.repeat; ++i) {
    samples.push_back(time_once_ms(call));
    progress.step();
  }
  result.timings = timings_of(std::move(samples));
  place.fetch(placed_outputs, outputs.views());
  engine.check_device_errors();
  result.compile_ms = engine.stats().compile_ms;
  result.out = outputs.out.view;
  if (command.verify) {
    result.meaning = check_meaning(program, loaded.views, outputs.views(), options);
  }
  if (!command.alone.empty()) {
    result.pieces = compare_with_pieces(command, files, engine, loaded, outputs.out.view);
  }
  if (command.grad) {
    GradientCall gradients{.program = program,
                           .inputs = loaded.views,
                           .outputs = outputs.views(),
                           .options = options,
                           .d_out = {},
                           .repeat = command.repeat,
                           .verify = command.verify};
    if (loaded.file != nullptr) gradients.d_out = loaded.file->find("d_out");
    result.gradients = run_gradients(engine, gradients);
  }
  if (!command.out.empty()) write_outputs(command, outputs, result);
  return result;
}

io::Json to_json(const RunResult& result) {
  io::Json json;
  json["kernel"] = result.report.kernel;
  json["path"] = result.report.path;
  json["slow_path"] = result.report.slow_path;
  json["out"] = {
      {"dtype", name(result.out.dtype)},
      {"shape", std::vector<std::int64_t>(result.out.shape.begin(), result.out.shape.end())}};
  json["runs"] = result.timings.sorted_ms.size();
  json["ms_median"] = result.timings.median();
  json["ms_least"] = result.timings.least();
  json["ms_most"] = result.timings.most();
  json["compile_ms"] = result.compile_ms;
  if (result.meaning) json["verify"] = to_json(*result.meaning);
  if (result.gradients) json["backward"] = to_json(*result.gradients);
  if (result.pieces) json["alone"] = to_json(*result.pieces);
  return json;
}

std::string to_text(const RunResult& result) {
  std::string text =
      formatted("out      {} {}\n", to_string(result.out.shape), name(result.out.dtype));
  text += formatted("kernel   {}\n", result.report.kernel);
  if (!result.report.path.empty()) text += formatted("why      {}\n", result.report.path);
  const std::size_t runs = result.timings.sorted_ms.size();
  text += runs == 1 ? formatted("time     {:.3f} ms, compiling included", result.timings.median())
                    : formatted("time     {:.3f} ms, median of {} ({:.3f} to {:.3f})",
                                result.timings.median(), runs, result.timings.least(),
                                result.timings.most());
  text += formatted("; compiling {:.1f} ms\n", result.compile_ms);
  if (result.meaning) text += "verify   " + to_text(*result.meaning) + "\n";
  if (result.gradients) text += to_text(*result.gradients);
  if (result.pieces) text += "alone    " + to_text(*result.pieces) + "\n";
  return text;
}

int run(const RunCommand& command) {
  if (!command.replay.empty()) return replay_call(command.replay, command.engine);
  const RunResult result = compute(command);
  if (command.json) {
    print_json(to_json(result));
  } else {
    print(to_text(result));
  }
  return result.passed() ? kSuccess : kCheckFailed;
}

}  // namespace

Action declare_run(OptionList& list) {
  auto command = std::make_shared<RunCommand>();
  command->inputs.q_len = 256;
  add_mod_options(list, command->mods);
  add_input_options(list, command->inputs, true);
  add_engine_options(list, command->engine);
  add_device_option(list, command->device);
  list.add({.name = "--scale",
            .target = &command->scale,
            .meaning = "factor of the scores; by default 1/sqrt(E)"});
  list.add(
      {.name = "--lse", .target = &command->lse, .meaning = "compute the log of the row sums too"});
  list.add({.name = "--max-scores",
            .target = &command->max_scores,
            .meaning = "compute the row maxima too"});
  list.add(
      {.name = "--grad",
       .target = &command->grad,
       .meaning = "run backward too, for every gradient; d_out of --input, else normal values"});
  list.add({.name = "--out",
            .target = &command->out,
            .meaning = "write the results as safetensors",
            .value_name = "FILE"});
  list.add({.name = "--verify",
            .target = &command->verify,
            .meaning = "compare with the fp64 meaning (slow)"});
  list.add({.name = "--alone",
            .target = &command->alone,
            .meaning = "also compute each piece alone and compare; boundaries as in cu_seqlens",
            .value_name = "TENSOR or FILE[:TENSOR]"});
  list.add({.name = "--repeat",
            .target = &command->repeat,
            .meaning = "time this many calls after one to warm up",
            .range = NumberRange{1, 1000000}});
  list.add({.name = "--replay",
            .target = &command->replay,
            .meaning = "repeat a call that TILEWRIGHT_RECORD saved",
            .value_name = "FOLDER"});
  list.add({.name = "--json", .target = &command->json, .meaning = "print the result as JSON"});
  list.end_with(
      "Examples:\n"
      "  tilewright run --random --q 512 --heads 8 --mask \"q >= kv\" --verify\n"
      "  tilewright run --random --q 512 --heads 8 --mask \"q >= kv\" --grad --verify\n"
      "  tilewright run --random --q 512 --score \"score - 0.1 * (q - kv)\" --dtype bf16\n"
      "  tilewright run --random --q 512 --mask \"window(W=64)\" --score \"softcap(c=30)\" "
      "--repeat 20\n"
      "  tilewright run --random --q 4096 --heads 16 --dim 128 --dtype bf16 --mask causal "
      "--device cuda --repeat 20\n"
      "  tilewright run --input examples/packed_sentences/sentences.safetensors --mask \"doc[q] == "
      "doc[kv]\" --alone cu_seqlens --out out.safetensors");
  return [command] { return run(*command); };
}

}  // namespace tilewright::cli
