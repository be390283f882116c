#include <array>
#include <future>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attention_state.h"
#include "call_check.h"
#include "explain.h"
#include "record.h"
#include "tilewright/error.h"

namespace tilewright {

void require_same_class(const Problem& prepared, const Problem& called) {
  const bool dtypes =
      prepared.query_dtype == called.query_dtype && prepared.out_dtype == called.out_dtype;
  if (dtypes && prepared.head_dim == called.head_dim && prepared.value_dim == called.value_dim &&
      prepared.device == called.device)
    return;
  const auto describe = [](const Problem& problem) {
    return std::string(name(problem.query_dtype)) + " to " + std::string(name(problem.out_dtype)) +
           ", E " + std::to_string(problem.head_dim) + ", Ev " + std::to_string(problem.value_dim) +
           " on " + to_string(problem.device);
  };
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = "the tensors are of another class than the prepared problem",
               .where = "query, value, out",
               .expected = describe(prepared),
               .got = describe(called),
               .hint = "lengths, batch, strides and numbers may change after prepare(); dtypes, "
                       "dims and device may not"});
}

namespace {

bool lie_on_host(const BlockLists& lists) {
  return lists.kv_num_blocks.device.kind == DeviceKind::kCpu;
}

/// Kernel and, where the call brought no spans, its spans. Kernels walk lists in their own memory
/// themselves.
Prepared::Resolved resolved(Prepared& prepared, const CallParts& call) {
  if (call.map == nullptr && call.lists == nullptr && call.device_map == nullptr)
    return prepared.resolve(call.program, call.problem);
  const backends::Variant variant = prepared.variant_of(call.program, call.problem);
  Prepared::Resolved made{.kernel = prepared.kernel(call.program, call.problem, variant, false),
                          .map = nullptr};
  if (call.map == nullptr && call.lists != nullptr && lie_on_host(*call.lists))
    made.map = std::make_shared<const MaskMap>(MaskMap::from_block_lists(*call.lists));
  return made;
}

}  // namespace

CallReport run_call(EngineCore& core, Prepared& asked, const CallParts& call) {
  check_call(call.program, call.problem, call.outputs);
  Prepared& prepared = asked.serving(call);
  const auto [kernel, own] = resolved(prepared, call);
  const std::size_t workspace_bytes =
      kernel->launch({.program = call.program,
                      .problem = call.problem,
                      .plan = prepared.plan(),
                      .inputs = call.inputs,
                      .outputs = call.outputs,
                      .map = call.map != nullptr ? call.map : own.get(),
                      .lists = call.lists,
                      .device_map = call.device_map,
                      .kv_lengths = call.kv_lengths,
                      .host = core.options.host,
                      .stream = call.stream});
  return prepared.called(workspace_bytes);
}

namespace {

/// Side by side: the kernels of a structure take about the same time to compile.
void compile_variants(std::span<Prepared* const> all, const Program& program,
                      const Problem& problem) {
  std::vector<std::future<void>> others;
  for (Prepared* const prepared : all)
    for (const backends::Variant& variant : prepared->variants_to_prepare(program, problem))
      others.push_back(std::async(std::launch::async, [prepared, variant, &program, &problem] {
        prepared->kernel(program, problem, variant, true);
      }));
  for (std::future<void>& other : others) other.get();
}

}  // namespace

Prepared& Attention::State::planned() const {
  return lists ? prepared->for_spans(program, problem) : *prepared;
}

std::vector<Prepared*> Attention::State::to_compile() const {
  if (lists) return {&planned()};
  if (core->options.compile_policy == CompilePolicy::kAllow) return {prepared.get()};
  return prepared->for_all_calls(program, problem);
}

void Attention::State::compile_all(bool async) {
  const auto work = [engine = core, structure = prepared, wanted = to_compile(), traced = program,
                     asked = problem] {
    recorded(engine->options, failed_prepare(traced, asked),
             [&] { compile_variants(wanted, traced, asked); });
  };
  compiled = std::async(async ? std::launch::async : std::launch::deferred, work).share();
  if (!async) compiled.get();
}

void Attention::State::use_lists(const BlockLists& block_lists) {
  lists = block_lists;
  if (lie_on_host(block_lists)) lists_map = MaskMap::from_block_lists(block_lists);
}

Attention::Attention(std::unique_ptr<State> state) : state_(std::move(state)) {}
Attention::~Attention() = default;
Attention::Attention(Attention&&) noexcept = default;
Attention& Attention::operator=(Attention&&) noexcept = default;

bool Attention::ready() const {
  return state_->compiled.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}
void Attention::wait() const { state_->compiled.get(); }

void Attention::bind(std::string_view capture, const TensorView& view) {
  state_->program.bind(capture, view);
}
void Attention::set(std::string_view number, double value) { state_->program.set(number, value); }
void Attention::set(std::string_view number, std::int64_t value) {
  state_->program.set(number, value);
}

std::size_t Attention::workspace_bytes() const {
  const State& state = *state_;
  Prepared& prepared = state.planned();
  const backends::Variant variant =
      prepared.variants_to_prepare(state.program, state.problem).front();
  const auto kernel = prepared.kernel(state.program, state.problem, variant, true);
  return kernel->workspace_bytes(state.program, state.problem) +
         kernel->span_bytes(state.lists ? &*state.lists : nullptr,
                            state.lists_map ? &*state.lists_map : nullptr);
}

CallReport Attention::forward(const ForwardInputs& inputs, const ForwardOutputs& outputs,
                              const CallOptions& options) const {
  return state_->forward(inputs, outputs, options);
}

CallReport Attention::State::forward(const ForwardInputs& inputs, const ForwardOutputs& outputs,
                                     const CallOptions& options) const {
  const std::optional<double> scale = options.scale ? options.scale : problem.scale;
  const FailedCall attempt{.program = program,
                           .inputs = &inputs,
                           .outputs = &outputs,
                           .scale = scale,
                           .q_base = problem.q_base,
                           .kv_base = problem.kv_base,
                           .lists = lists ? &*lists : nullptr,
                           .kv_lengths = options.kv_lengths};
  return recorded(core->options, attempt, [&] {
    compiled.get();
    Problem called = problem_from(inputs, outputs);
    require_same_class(problem, called);
    called.scale = scale;
    called.q_base = problem.q_base;
    called.kv_base = problem.kv_base;
    check_options(options, lists ? &*lists : nullptr, program, called);
    return run_call(*core, *prepared,
                    {.program = program,
                     .problem = called,
                     .inputs = inputs,
                     .outputs = outputs,
                     .lists = lists ? &*lists : nullptr,
                     .map = lists_map ? &*lists_map : options.mask_map,
                     .device_map = options.device_map,
                     .kv_lengths = options.kv_lengths,
                     .stream = options.stream});
  });
}

std::string Attention::explain(std::string_view stage) const {
  return explain_stage(state_->planned(), state_->program, state_->problem, stage);
}

const Problem& Attention::problem() const noexcept { return state_->problem; }
const Program& Attention::program() const noexcept { return state_->program; }

}  // namespace tilewright
