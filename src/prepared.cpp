#include "prepared.h"

#include <utility>

#include "attention_state.h"
#include "call_signature.h"
#include "ir/program.h"
#include "tilewright/error.h"
#include "tilewright/target.h"

namespace tilewright {

namespace {

constexpr const char* kWhySpans = "the call's block lists or mask map say which keys are visited";

bool reads_tables(const ir::Program& program) {
  for (const ir::Node& node : program.nodes()) {
    const bool table = node.op == ir::Op::kLoad && node.type != ir::Type::kFloat;
    if (table || node.op == ir::Op::float_to_int) return true;
  }
  // A float table decides the classes of a mask that compares its entries.
  if (!program.roots().mask) return false;
  const std::vector<bool> reachable = program.reachable_from(*program.roots().mask);
  for (ir::NodeId id = 0; id < program.size(); ++id)
    if (reachable[id] && program.node(id).op == ir::Op::kLoad) return true;
  return false;
}

bool has_integer_nodes(const ir::Program& program) {
  for (const ir::Node& node : program.nodes())
    if (node.type == ir::Type::kInt || node.op == ir::Op::kLoad) return true;
  return false;
}

bool can_fault(const ir::Program& program) {
  for (const ir::Node& node : program.nodes()) {
    if (node.op == ir::Op::kLoad && node.operand_count > 1) return true;
    if (!ir::is_leaf(node.op) && ir::row(node.op).has_guard()) return true;
  }
  return false;
}

}  // namespace

const backends::Backend& EngineCore::backend_for(Device device) const {
  const std::string wanted = !options.backend.empty()
                                 ? options.backend
                                 : (device.kind == DeviceKind::kCuda ? "cuda" : "cpu");
  std::string known;
  if ((wanted == "cuda") != (device.kind == DeviceKind::kCuda))
    throw Error({.code = ErrorCode::kInvalidArgument,
                 .what = "the chosen backend cannot reach the memory of these tensors",
                 .where = "backend (TILEWRIGHT_BACKEND)",
                 .expected = device.kind == DeviceKind::kCuda ? "cuda for tensors on cuda"
                                                              : "a CPU backend for tensors on cpu",
                 .got = wanted,
                 .hint = "leave the backend to the tensors' device"});
  for (const auto& backend : backends) {
    if (backend->name() == wanted) return *backend;
    known += known.empty() ? std::string(backend->name()) : ", " + std::string(backend->name());
  }
  throw Error({.code = ErrorCode::kUnsupported,
               .what = "this build has no backend for these tensors",
               .where = to_string(device),
               .expected = "one of " + known,
               .got = wanted,
               .hint = "`tilewright doctor` lists the backends and what each needs"});
}

void EngineCore::log(LogLevel level, const std::string& message) const {
  if (options.host.log) options.host.log(level, message);
}

namespace {

Demands demands_of(const EngineCore& core, const Program& program, const Problem& problem) {
  return {.length_class =
              core.backend_for(problem.device).length_class(program.structure(), problem)};
}

}  // namespace

Prepared::Prepared(std::shared_ptr<EngineCore> core, const Program& program, const Problem& problem)
    : Prepared(core, program, problem, demands_of(*core, program, problem)) {}

Prepared::Prepared(std::shared_ptr<EngineCore> core, const Program& program, const Problem& problem,
                   Demands demands)
    : core_(std::move(core)),
      backend_(&core_->backend_for(problem.device)),
      facts_(analyse::structure_facts(program.structure())),
      plan_(plan::choose(problem,
                         backend_->limits({.program = program.structure(),
                                           .facts = facts_,
                                           .problem = problem,
                                           .any_layout = demands.any_layout,
                                           .block_lists = demands.block_lists,
                                           .device_lengths = demands.device_lengths,
                                           .backward = demands.backward,
                                           .fast_functions = core_->options.fast_functions,
                                           .length_class = demands.length_class}),
                         core_->options.require_fast)),
      on_host_(problem.device.kind == DeviceKind::kCpu),
      tables_decide_(on_host_ && reads_tables(program.structure())),
      has_integers_(has_integer_nodes(program.structure())),
      has_faults_(can_fault(program.structure())),
      demands_(demands) {
  write_report();
}

void Prepared::write_report() {
  report_ = {.kernel = plan_.backend + "/" + plan_.kernel, .path = {}, .slow_path = !plan_.fast};
  if (!plan_.reasons.empty()) report_.path = plan_.reasons.front();
  calls_ = &core_->stats.calls_of(report_.kernel);
  backward_calls_ = &core_->stats.calls_of(report_.kernel + " backward");
}

Prepared& Prepared::serving(const CallParts& call) {
  const bool spans =
      (call.lists != nullptr || call.map != nullptr || call.device_map != nullptr) && !on_host_;
  Demands wanted{.block_lists = spans, .device_lengths = call.kv_lengths != nullptr && !on_host_};
  if (!spans) wanted.length_class = backend_->length_class(call.program.structure(), call.problem);
  Prepared& fit = sibling(call.program, call.problem, wanted, spans ? kWhySpans : "");
  const std::string reason = backend_->layout_rejection(fit.plan_, call.inputs, call.outputs);
  if (reason.empty()) return fit;
  Demands demands = fit.demands_;
  demands.any_layout = true;
  return sibling(call.program, call.problem, demands, reason);
}

Prepared& Prepared::serving(const BackwardParts& call) {
  if (on_host_) return *this;
  Demands demands{.block_lists = call.lists != nullptr,
                  .backward = true,
                  .device_lengths = call.kv_lengths != nullptr};
  Prepared& planned = sibling(call.program, call.problem, demands, {});
  const std::string reason = backend_->layout_rejection(planned.plan_, call.inputs, call.outputs);
  if (reason.empty()) return planned;
  demands.any_layout = true;
  return sibling(call.program, call.problem, demands, reason);
}

Prepared& Prepared::for_backward(const Program& program, const Problem& problem) {
  const Demands demands{.block_lists = demands_.block_lists, .backward = true};
  return on_host_ ? *this : sibling(program, problem, demands, {});
}

Prepared& Prepared::for_spans(const Program& program, const Problem& problem) {
  // Rows that walk spans are the same for all lengths.
  return on_host_ ? *this : sibling(program, problem, {.block_lists = true}, kWhySpans);
}

Prepared& Prepared::sibling(const Program& program, const Problem& problem, const Demands& demands,
                            const std::string& why) {
  if (demands.index() == demands_.index()) return *this;
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Prepared>& found = siblings_[demands.index()];
  if (!found) {
    found.reset(new Prepared(core_, program, problem, demands));
    if (!why.empty()) {
      found->plan_.reasons.insert(found->plan_.reasons.begin(), why);
      found->write_report();
    }
  }
  return *found;
}

struct Prepared::LastCall {
  CallSignature signature;
  Resolved resolved;
};

Prepared::Resolved Prepared::resolve(const Program& program, const Problem& problem) {
  {
    std::shared_ptr<const LastCall> last;
    {
      const std::lock_guard lock(mutex_);
      last = last_;
    }
    if (last != nullptr && last->signature.matches(program, problem)) {
      core_->stats.hit();
      return last->resolved;
    }
  }
  // Taken before the tables are read for the map: a table that changes meanwhile matches no later.
  std::optional<CallSignature> signature = CallSignature::of(program, problem, tables_decide_);
  Resolved resolved{.kernel = {}, .map = map(program, problem, plan_.q_band_rows)};
  resolved.kernel = kernel(program, problem, variant_of(program, problem), false);
  if (signature) {
    auto last = std::make_shared<const LastCall>(LastCall{std::move(*signature), resolved});
    const std::lock_guard lock(mutex_);
    last_ = std::move(last);
  }
  return resolved;
}

std::shared_ptr<const MaskMap> Prepared::map(const Program& program, const Problem& problem,
                                             std::int64_t q_block) {
  const bool one_tile = problem.q_len <= q_block && problem.kv_len <= plan_.kv_tile_tokens;
  const bool no_pairs =
      problem.batch == 0 || problem.query_heads == 0 || problem.q_len == 0 || problem.kv_len == 0;
  // Device kernels classify tiles themselves, with the tables as they are when they run.
  if (!on_host_ || !program.has_mask_mod() || one_tile || no_pairs) return nullptr;
  const Digest key = memo_key(program, problem, q_block);
  if (!tables_decide_)
    if (Memo memo = recall(key); memo.map) return memo.map;
  const MaskMapOptions options{.batch = facts_.mask_depends_on_b ? problem.batch : 1,
                               .heads = facts_.mask_depends_on_h ? problem.query_heads : 1,
                               .q_len = problem.q_len,
                               .kv_len = problem.kv_len,
                               .q_base = problem.q_base,
                               .kv_base = problem.kv_base,
                               .q_block = q_block};
  auto map = std::make_shared<const MaskMap>(MaskMap::build(program, options));
  if (!tables_decide_) remember(key, {.facts = {}, .variant = {}, .map = map});
  return map;
}

}  // namespace tilewright
