#include <memory>
#include <optional>
#include <string>

#include "attention_inputs.h"
#include "base/formatted.h"
#include "catalogue_table.h"
#include "console.h"
#include "device_place.h"
#include "engine_flags.h"
#include "exit_code.h"
#include "explain_score.h"
#include "explain_tiles.h"
#include "io/json.h"
#include "mod_options.h"
#include "tilewright/error.h"
#include "tilewright/target.h"
#include "verb.h"

namespace tilewright::cli {

namespace {

struct ExplainCommand {
  ModOptions mods;
  InputOptions inputs;
  EngineOptions engine;
  std::string device;
  std::string stage = "all";
  std::vector<std::int64_t> at;
  std::optional<double> score;
  bool catalogue = false;
  bool json = false;
};

Problem problem_of(const InputOptions& options) {
  Problem problem;
  problem.batch = options.batch;
  problem.kv_batch = options.batch;
  problem.query_heads = options.heads;
  problem.kv_heads = options.kv_heads == 0 ? options.heads : options.kv_heads;
  problem.q_len = options.q_len;
  problem.kv_len = options.kv_len == 0 ? options.q_len : options.kv_len;
  problem.head_dim = options.head_dim;
  problem.value_dim = options.value_dim == 0 ? options.head_dim : options.value_dim;
  const DType dtype = dtype_from_name(options.dtype).value_or(DType::kF32);
  problem.query_dtype = problem.key_dtype = problem.value_dtype = problem.out_dtype = dtype;
  return problem;
}

/// The problem of --input where there is one, else that of the sizes.
Problem stated_problem(const ExplainCommand& command, const std::optional<LoadedInputs>& tensors) {
  if (!tensors) return problem_of(command.inputs);
  const LoadedInputs& loaded = *tensors;
  TensorView out = loaded.views.query;
  out.shape[3] = loaded.views.value.shape[3];
  return problem_from(loaded.views, {.out = out, .lse = {}, .max_scores = {}});
}

std::string kernels_text() {
  std::string text = "kernels:\n";
  for (const TargetInfo& target : targets()) {
    text += formatted("  {} ({}): {}\n", target.backend,
                      target.available ? "available" : "not available", target.reason);
    for (const std::string& kernel : target.kernels) text += "    " + kernel + "\n";
  }
  return text;
}

/// Text of one stage; the engine knows the stages between program and source.
std::string stage_text(const std::string& stage, const Attention& attention) {
  if (stage == "tiles") return tiles_text(attention.program(), attention.problem());
  if (stage == "kernels") return kernels_text();
  if (stage != "all") return attention.explain(stage);
  return attention.explain("program") + "\n" + attention.explain("facts") + "\n" +
         tiles_text(attention.program(), attention.problem()) + "\n" + attention.explain("plan") +
         "\n" + attention.explain("derivative") + "\n" + attention.explain("source");
}

int explain_at(const ExplainCommand& command, const Program& program,
               const std::optional<LoadedInputs>& tensors) {
  if (command.at.size() != 4) {
    throw Error({.code = ErrorCode::kInvalidArgument,
                 .what = "--at takes four positions",
                 .where = "--at",
                 .expected = "b,h,q,kv",
                 .got = formatted("{} numbers", command.at.size()),
                 .hint = {}});
  }
  const ir::Position position{command.at[0], command.at[1], command.at[2], command.at[3]};
  double score = command.score.value_or(1);
  if (tensors && !command.score) score = score_of(tensors->views, position);
  const ScoreTrace trace = trace_score(program, score, position);
  if (command.json) {
    print_json(to_json(trace));
  } else {
    print(to_text(trace));
  }
  return kSuccess;
}

int explain(const ExplainCommand& command) {
  if (command.catalogue) {
    print(catalogue_table());
    return kSuccess;
  }
  OpenFiles files;
  std::optional<LoadedInputs> tensors;
  if (!command.inputs.file.empty()) tensors = load_inputs(command.inputs, files);
  Problem problem = stated_problem(command, tensors);
  problem.device = DevicePlace(command.device).device();
  const io::TensorFile* context = tensors ? tensors->file : nullptr;
  const LoadedProgram mods = load_program(command.mods, problem, files, context);
  if (!command.at.empty()) return explain_at(command, mods.program, tensors);
  Engine engine(command.engine);
  const Attention attention = engine.prepare(mods.program, problem);
  const std::string text = stage_text(command.stage, attention);
  if (command.json) {
    print_json({{"stage", command.stage}, {"text", text}});
  } else {
    print(text);
  }
  return kSuccess;
}

}  // namespace

Action declare_explain(OptionList& list) {
  auto command = std::make_shared<ExplainCommand>();
  command->inputs.q_len = 1024;
  add_mod_options(list, command->mods);
  add_input_options(list, command->inputs, false);
  add_engine_options(list, command->engine);
  add_device_option(list, command->device);
  list.add(
      {.name = "--input",
       .target = &command->inputs.file,
       .meaning = "safetensors with query, key, value: states the problem, and mods may read it",
       .value_name = "FILE",
       .group = "Inputs"});
  list.add({.name = "--stage",
            .target = &command->stage,
            .meaning = "which stage to show",
            .choices = {"program", "facts", "tiles", "plan", "derivative", "backward", "source",
                        "kernels", "all"}});
  list.add({.name = "--at",
            .target = &command->at,
            .meaning = "show every node's value for this one score",
            .value_name = "B,H,Q,KV",
            .delimiter = ','});
  list.add({.name = "--score-value",
            .target = &command->score,
            .meaning = "the score before score_mod, for --at; by default from --input, else 1"});
  list.add({.name = "--catalogue",
            .target = &command->catalogue,
            .meaning = "list the masks and score mods that have names"});
  list.add({.name = "--json", .target = &command->json, .meaning = "print as JSON"});
  list.end_with(
      "Examples:\n"
      "  tilewright explain --mask \"(q >= kv) & (q - kv < 128)\" --stage tiles\n"
      "  tilewright explain --score \"20 * tanh(score / 20)\" --at 0,0,5,3 --score-value 31\n"
      "  tilewright explain --mask causal --dtype bf16 --dim 128 --stage plan");
  return [command] { return explain(*command); };
}

}  // namespace tilewright::cli
