#include "tilewright/engine.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attention_state.h"
#include "backends/list.h"
#include "backward_check.h"
#include "call_check.h"
#include "config.h"
#include "record.h"

namespace tilewright {

/// The engine's core, and one Prepared per structure and class of problems for calls without
/// prepare().
struct Engine::State {
  std::shared_ptr<EngineCore> core = std::make_shared<EngineCore>();
  std::mutex mutex;
  std::map<Digest, std::shared_ptr<Prepared>> prepared;

  std::shared_ptr<Prepared> prepare(const Program& program, const Problem& problem);
};

namespace {

/// What a plan depends on: structure, dtypes, dims and device; no lengths.
Digest class_key(const Program& program, const Problem& problem) {
  DigestWriter writer;
  writer.text(program.structure_digest());
  for (DType dtype :
       {problem.query_dtype, problem.key_dtype, problem.value_dtype, problem.out_dtype})
    writer.integer(static_cast<std::int64_t>(dtype));
  writer.integer(problem.head_dim).integer(problem.value_dim);
  writer.integer(static_cast<std::int64_t>(problem.device.kind)).integer(problem.device.ordinal);
  return writer.finish();
}

std::vector<std::string> layers_of(std::string_view text) {
  std::vector<std::string> layers;
  while (!text.empty()) {
    const std::string_view layer = text.substr(0, text.find(':'));
    if (!layer.empty()) layers.emplace_back(layer);
    text.remove_prefix(std::min(text.size(), layer.size() + 1));
  }
  return layers;
}

}  // namespace

std::shared_ptr<Prepared> Engine::State::prepare(const Program& program, const Problem& problem) {
  const Digest key = class_key(program, problem);
  {
    const std::lock_guard lock(mutex);
    if (const auto found = prepared.find(key); found != prepared.end()) return found->second;
  }
  auto fresh = std::make_shared<Prepared>(core, program, problem);
  const std::lock_guard lock(mutex);
  return prepared.try_emplace(key, std::move(fresh)).first->second;
}

Engine::Engine(EngineOptions options) : state_(std::make_shared<State>()) {
  EngineCore& core = *state_->core;
  const Config config = read_config();
  core.options = with_config(std::move(options), config);
  cache::DiskOptions disk =
      cache::user_cache(core.options.cache_dir, config.xdg_cache_home, config.home);
  disk.read_only = layers_of(config.cache_layers);
  core.disk = std::make_unique<cache::DiskStore>(std::move(disk));
  // What the caller sees is where kernels really go.
  core.options.cache_dir = core.disk->why_memory_only().empty() ? core.disk->folder() : "none";
  if (core.options.cache_dir == "none")
    core.log(LogLevel::kInfo, "kernels stay in memory: " + core.disk->why_memory_only());
  core.backends = backends::make_backends(backend_options(core.options, config));
}

Engine::~Engine() = default;

Attention Engine::prepare(const Program& program, const Problem& problem, bool async) {
  auto state = std::make_unique<Attention::State>(
      state_->core,
      recorded(state_->core->options, failed_prepare(program, problem),
               [&] { return state_->prepare(program, problem); }),
      program, problem);
  state->compile_all(async);
  return Attention(std::move(state));
}

Attention Engine::prepare(const Program& program, const Problem& problem, const BlockLists& lists) {
  auto state = recorded(state_->core->options, failed_prepare(program, problem, &lists), [&] {
    check_lists(lists, problem);
    auto made = std::make_unique<Attention::State>(state_->core, state_->prepare(program, problem),
                                                   program, problem);
    made->use_lists(lists);
    return made;
  });
  state->compile_all(false);
  return Attention(std::move(state));
}

CallReport Engine::attention(const Program& program, const ForwardInputs& inputs,
                             const ForwardOutputs& outputs, const CallOptions& options) {
  const FailedCall attempt{.program = program,
                           .inputs = &inputs,
                           .outputs = &outputs,
                           .scale = options.scale,
                           .lists = options.block_lists,
                           .kv_lengths = options.kv_lengths};
  return recorded(state_->core->options, attempt, [&] {
    Problem problem = problem_from(inputs, outputs);
    problem.scale = options.scale;
    check_options(options, options.block_lists, program, problem);
    return run_call(*state_->core, *state_->prepare(program, problem),
                    {.program = program,
                     .problem = problem,
                     .inputs = inputs,
                     .outputs = outputs,
                     .lists = options.block_lists,
                     .map = options.mask_map,
                     .device_map = options.device_map,
                     .kv_lengths = options.kv_lengths,
                     .stream = options.stream});
  });
}

void Engine::build_mask_map(const DeviceMaskMap& map, const Problem& problem, void* stream) {
  check_map_build(map, problem);
  const std::shared_ptr<Prepared> structure = state_->prepare(map.program(), problem);
  Prepared& prepared = structure->for_spans(map.program(), problem);
  const auto kernel =
      prepared.kernel(map.program(), problem, prepared.variant_of(map.program(), problem), false);
  kernel->build_map({.map = map,
                     .problem = problem,
                     .plan = prepared.plan(),
                     .host = state_->core->options.host,
                     .stream = stream});
}

void Engine::check_device_errors() const {
  for (const auto& backend : state_->core->backends) backend->check_errors();
}

CallReport Engine::attention_backward(const Program& program, const BackwardInputs& inputs,
                                      const BackwardOutputs& outputs, const CallOptions& options) {
  const FailedCall attempt{.program = program,
                           .backward_inputs = &inputs,
                           .gradients = &outputs,
                           .scale = options.scale,
                           .lists = options.block_lists,
                           .deterministic = options.deterministic,
                           .kv_lengths = options.kv_lengths};
  return recorded(state_->core->options, attempt, [&] {
    Problem problem = problem_from(inputs, outputs);
    problem.scale = options.scale;
    check_options(options, options.block_lists, program, problem);
    return run_backward(*state_->core, *state_->prepare(program, problem),
                        {.program = program,
                         .problem = problem,
                         .inputs = inputs,
                         .outputs = outputs,
                         .lists = options.block_lists,
                         .map = options.mask_map,
                         .kv_lengths = options.kv_lengths,
                         .stream = options.stream,
                         .deterministic = options.deterministic});
  });
}

EngineStats Engine::stats() const { return state_->core->stats.read(); }

const EngineOptions& Engine::options() const noexcept { return state_->core->options; }

}  // namespace tilewright
