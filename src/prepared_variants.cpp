#include <algorithm>
#include <utility>

#include "attention_state.h"
#include "prepared.h"
#include "tilewright/error.h"

// Which variant of its structure a call takes: facts about numbers, lengths and tables, remembered.
namespace tilewright {

namespace {

constexpr std::size_t kMemos = 32;

/// Whether an integer of the program can depend on the value of a number.
bool numbers_reach_integers(const ir::Program& program) {
  if (program.numbers().empty()) return false;
  return std::ranges::any_of(program.nodes(), [](const ir::Node& node) {
    return node.op == ir::Op::float_to_int ||
           (node.op == ir::Op::kNumber && node.type == ir::Type::kInt);
  });
}

}  // namespace

Digest Prepared::memo_key(const Program& program, const Problem& problem,
                          std::int64_t q_block) const {
  DigestWriter writer;
  writer.integer(q_block);
  for (const ir::NumberValue& number : program.bindings().numbers)
    writer.real(number.real).integer(number.integer);
  for (std::int64_t value : {problem.batch, problem.query_heads, problem.q_len, problem.kv_len,
                             problem.q_base, problem.kv_base})
    writer.integer(value);
  for (const TensorView& view : program.bindings().captures)
    for (std::size_t axis = 0; axis < view.rank(); ++axis)
      writer.integer(view.shape[axis]).integer(view.strides[axis]);
  return writer.finish();
}

Prepared::Memo Prepared::recall(const Digest& key) {
  const std::lock_guard lock(mutex_);
  const auto found = memos_.find(key);
  return found == memos_.end() ? Memo{} : found->second;
}

void Prepared::remember(const Digest& key, const Memo& memo) {
  const std::lock_guard lock(mutex_);
  if (memos_.size() >= kMemos) memos_.clear();
  Memo& kept = memos_[key];
  if (memo.facts) kept.facts = memo.facts;
  if (memo.variant) kept.variant = memo.variant;
  if (memo.map) kept.map = memo.map;
}

analyse::BindingFacts Prepared::binding_facts(const Program& program, const Problem& problem) {
  if (!has_integers_ && !has_faults_)
    return {.fits_int32 = true,
            .subscripts_in_range = true,
            .divisors_nonzero = true,
            .score_low = {},
            .score_high = {},
            .reasons = {}};
  if (tables_decide_)
    return analyse::binding_facts(program.structure(), program.bindings(), problem);
  const Digest key = memo_key(program, problem);
  if (Memo memo = recall(key); memo.facts) return *memo.facts;
  const analyse::BindingFacts facts =
      analyse::binding_facts(program.structure(), program.bindings(), problem);
  remember(key, {.facts = facts, .variant = variant(facts), .map = nullptr});
  return facts;
}

backends::Variant Prepared::variant_of(const Program& program, const Problem& problem) {
  if (tables_decide_ || (!has_integers_ && !has_faults_))
    return variant(binding_facts(program, problem));
  {
    const Digest key = memo_key(program, problem);
    const std::lock_guard lock(mutex_);
    const auto found = memos_.find(key);
    if (found != memos_.end() && found->second.variant) return *found->second.variant;
  }
  return variant(binding_facts(program, problem));
}

backends::Variant Prepared::variant(const analyse::BindingFacts& facts) const {
  const bool checked = has_faults_ && !(facts.subscripts_in_range && facts.divisors_nonzero);
  return {.fits_int32 = !has_integers_ || facts.fits_int32,
          .checked = checked,
          .reports = checked && !on_host_ && core_->options.checked,
          .fast_functions = !on_host_ && core_->options.fast_functions};
}

std::vector<backends::Variant> Prepared::variants_to_prepare(const Program& program,
                                                             const Problem& problem) {
  if (on_host_ || core_->options.compile_policy != CompilePolicy::kAllow)
    return reachable_variants(program, problem);
  return {variant_of(program, problem)};
}

std::vector<Prepared*> Prepared::for_all_calls(const Program& program, const Problem& problem) {
  std::vector<Prepared*> all{this};
  const auto add = [&](Prepared& other) {
    if (std::ranges::find(all, &other) == all.end()) all.push_back(&other);
  };
  // What only calls with extras need may have no row: then those calls are refused, not this one.
  const auto add_if_served = [&](const auto& find) {
    try {
      add(find());
    } catch (const Error&) {
    }
  };
  for (int length_class = 0; length_class < backend_->length_classes(); ++length_class) {
    Demands demands = demands_;
    demands.length_class = length_class;
    add(sibling(program, problem, demands, {}));
    demands.device_lengths = true;
    if (!on_host_)
      add_if_served([&]() -> Prepared& { return sibling(program, problem, demands, {}); });
  }
  add_if_served([&]() -> Prepared& { return for_spans(program, problem); });
  return all;
}

bool Prepared::always_fits_int32(const Program& program, const Problem& problem) const {
  const std::int64_t limit = backend_->extent_limit();
  if (limit == 0 || numbers_reach_integers(program.structure())) return !has_integers_;
  Problem largest = problem;
  largest.batch = largest.query_heads = largest.q_len = largest.kv_len = limit - 1;
  return analyse::binding_facts(program.structure(), program.bindings(), largest).fits_int32;
}

std::vector<backends::Variant> Prepared::reachable_variants(const Program& program,
                                                            const Problem& problem) const {
  const bool always_narrow = always_fits_int32(program, problem);
  std::vector<backends::Variant> variants;
  for (const bool fits_int32 : {true, false}) {
    for (const bool checked : {false, true}) {
      if ((!fits_int32 && always_narrow) || (checked && !has_faults_)) continue;
      variants.push_back({.fits_int32 = fits_int32,
                          .checked = checked,
                          .reports = checked && !on_host_ && core_->options.checked,
                          .fast_functions = !on_host_ && core_->options.fast_functions});
    }
  }
  return variants;
}

}  // namespace tilewright
