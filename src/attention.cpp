#include <array>
#include <string>
#include <utility>

#include "attention_state.h"
#include "call_check.h"
#include "explain.h"
#include "record.h"
#include "tilewright/error.h"

namespace tilewright {

namespace {

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

/// Runs the flow; a failing call is recorded where the engine was asked to.
CallReport run_recorded(EngineCore& core, Prepared& asked, const CallParts& call) {
  Prepared& prepared = asked.serving(call);
  const bool on_host = call.problem.device.kind == DeviceKind::kCpu;
  const std::shared_ptr<const MaskMap> built =
      call.lists == nullptr ? prepared.map(call.program, call.problem) : nullptr;
  std::optional<MaskMap> from_lists;
  if (on_host && call.lists != nullptr && call.lists_map == nullptr)
    from_lists = MaskMap::from_block_lists(*call.lists);
  const MaskMap* map = built.get();
  if (call.lists_map != nullptr) map = call.lists_map;
  if (from_lists) map = &*from_lists;
  const backends::Variant variant = prepared.variant_of(call.program, call.problem);
  const auto kernel = prepared.kernel(call.program, call.problem, variant, false);
  const std::size_t workspace_bytes = kernel->launch({.program = call.program,
                                                      .problem = call.problem,
                                                      .plan = prepared.plan(),
                                                      .inputs = call.inputs,
                                                      .outputs = call.outputs,
                                                      .map = map,
                                                      .lists = call.lists,
                                                      .host = core.options.host,
                                                      .stream = call.stream});
  const plan::Plan& plan = prepared.plan();
  CallReport report{
      .kernel = plan.backend + "/" + plan.kernel, .path = {}, .slow_path = !plan.fast};
  report.path = plan.reasons.empty() ? std::string() : plan.reasons.front();
  core.stats.called(report.kernel, workspace_bytes);
  return report;
}

}  // namespace

CallReport run_call(EngineCore& core, Prepared& prepared, const CallParts& call) {
  try {
    check_call(call.program, call.problem, call.outputs);
    return run_recorded(core, prepared, call);
  } catch (const Error& error) {
    if (!core.options.record_dir.empty()) {
      record_failure(core.options,
                     {.program = call.program,
                      .problem = call.problem,
                      .inputs = call.inputs,
                      .outputs = call.outputs,
                      .lists = call.lists},
                     error);
    }
    throw;
  }
}

void Attention::State::compile_all(bool async) {
  const auto work = [structure = prepared, traced = program, asked = problem] {
    for (const backends::Variant& variant : structure->reachable_variants())
      structure->kernel(traced, asked, variant, true);
  };
  compiled = std::async(async ? std::launch::async : std::launch::deferred, work).share();
  if (!async) compiled.get();
}

void Attention::State::use_lists(const BlockLists& block_lists) {
  lists = block_lists;
  if (problem.device.kind == DeviceKind::kCpu) lists_map = MaskMap::from_block_lists(block_lists);
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
  const auto variants = state_->prepared->reachable_variants();
  return state_->prepared->kernel(state_->program, state_->problem, variants.front(), true)
      ->workspace_bytes(state_->program, state_->problem);
}

CallReport Attention::forward(const ForwardInputs& inputs, const ForwardOutputs& outputs,
                              const CallOptions& options) const {
  wait();
  Problem problem = problem_from(inputs, outputs);
  require_same_class(state_->problem, problem);
  problem.scale = options.scale ? options.scale : state_->problem.scale;
  problem.q_base = state_->problem.q_base;
  problem.kv_base = state_->problem.kv_base;
  if (state_->lists) check_lists(*state_->lists, problem);
  const CallParts parts{.program = state_->program,
                        .problem = problem,
                        .inputs = inputs,
                        .outputs = outputs,
                        .lists = state_->lists ? &*state_->lists : nullptr,
                        .lists_map = state_->lists_map ? &*state_->lists_map : nullptr,
                        .stream = options.stream};
  return run_call(*state_->core, *state_->prepared, parts);
}

std::string Attention::explain(std::string_view stage) const {
  return explain_stage(*state_->prepared, state_->program, state_->problem, stage);
}

const Problem& Attention::problem() const noexcept { return state_->problem; }
const Program& Attention::program() const noexcept { return state_->program; }

}  // namespace tilewright
