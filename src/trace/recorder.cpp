#include "trace/recorder.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>

#include "ir/structural.h"
#include "tilewright/error.h"

namespace tilewright::tracing {

namespace {

thread_local Recorder* current_recorder = nullptr;
std::atomic<std::uint32_t> next_id{1};

/// Past this many questions on one path the mod is a loop that asks the same thing for ever.
constexpr std::size_t kMaxDecideCalls = 100000;

[[noreturn]] void raise_endless_loop() {
  throw Error(
      {.code = ErrorCode::kTrace,
       .what = "a loop's end depends on a symbolic value",
       .where = "a loop in the mod",
       .expected = "a loop over host values",
       .got = "branch after branch on one path, or the same question for ever",
       .hint = "loop over a fixed count and combine with select, or read a captured table"});
}

[[noreturn]] void raise_name_clash(const std::string& name, const char* kind) {
  throw Error({.code = ErrorCode::kTrace,
               .what = std::string("two different ") + kind + " have the same name",
               .where = name,
               .expected = {},
               .got = {},
               .hint = "names are how a prepared attention rebinds them: make them unique"});
}

/// By bits: NaN is the same as itself, and the zeros differ.
bool same_number(const ir::NumberValue& a, const ir::NumberValue& b) {
  return std::bit_cast<std::uint64_t>(a.real) == std::bit_cast<std::uint64_t>(b.real) &&
         a.integer == b.integer;
}

bool same_view(const TensorView& a, const TensorView& b) {
  return a.data == b.data && a.dtype == b.dtype && a.shape == b.shape && a.strides == b.strides &&
         a.device == b.device;
}

}  // namespace

Recorder::Recorder() : id_(next_id.fetch_add(1)) {}

Recorder& Recorder::current() {
  if (current_recorder != nullptr) return *current_recorder;
  throw Error(
      {.code = ErrorCode::kTrace,
       .what = "a symbolic value is used outside the tracing of its mod",
       .where = {},
       .expected = "Score, Index and Bool only inside a score_mod or mask_mod",
       .got = {},
       .hint = "keep host numbers and tensor views outside; mods must not store their arguments"});
}

bool Recorder::active() noexcept { return current_recorder != nullptr; }

void Recorder::begin_path(char mod, std::vector<bool> forced) {
  prefix_.assign(1, mod);
  ordinal_ = 0;
  decide_calls_ = 0;
  forced_ = std::move(forced);
  decisions_.clear();
  conditions_.clear();
}

bool Recorder::decide(ir::NodeId condition) {
  if (++decide_calls_ > kMaxDecideCalls) raise_endless_loop();
  if (graph_.is_literal(condition, true)) return true;
  if (graph_.is_literal(condition, false)) return false;
  const ir::NodeId opposite = graph_.apply(ir::Op::bnot, std::array{condition});
  for (std::size_t i = 0; i < conditions_.size(); ++i) {
    if (conditions_[i] == condition) return decisions_[i];
    if (conditions_[i] == opposite) return !decisions_[i];
  }
  const bool taken = decisions_.size() < forced_.size() ? forced_[decisions_.size()] : true;
  // So many open branches on one path mean more paths than a mod may have: only a loop gets here.
  if (conditions_.size() >= kMaxPaths) raise_endless_loop();
  conditions_.push_back(condition);
  decisions_.push_back(taken);
  prefix_ += taken ? '1' : '0';
  ordinal_ = 0;
  return taken;
}

ir::NodeId Recorder::guard() {
  ir::NodeId all = graph_.literal(true);
  for (std::size_t i = 0; i < conditions_.size(); ++i) {
    ir::NodeId condition = conditions_[i];
    if (!decisions_[i]) condition = graph_.apply(ir::Op::bnot, std::array{condition});
    all = graph_.apply(ir::Op::band, std::array{all, condition});
  }
  return all;
}

ir::NodeId Recorder::number(double value) {
  if (ir::is_structural(value)) return graph_.literal(value);
  return occurrence(ir::Type::kFloat, {.real = value, .integer = 0});
}

ir::NodeId Recorder::number(std::int64_t value) {
  if (ir::is_structural(value)) return graph_.literal(value);
  return occurrence(ir::Type::kInt, {.real = 0, .integer = value});
}

ir::NodeId Recorder::occurrence(ir::Type type, ir::NumberValue value) {
  const auto [position, inserted] = occurrences_.try_emplace({prefix_, ordinal_++}, ir::kNoNode);
  if (inserted) position->second = graph_.number({.name = {}, .type = type}, value);
  const ir::Node& node = graph_.node(position->second);
  const ir::NumberValue& known = graph_.bindings().numbers[node.payload];
  // A replay that meets another number here is an impure mod; a new slot makes the two runs differ,
  // which is reported.
  if (node.type != type || !same_number(known, value))
    return graph_.number({.name = {}, .type = type}, value);
  return position->second;
}

ir::NodeId Recorder::named_number(const std::string& name, ir::Type type, ir::NumberValue value) {
  const auto known = named_numbers_.find(name);
  if (known == named_numbers_.end()) {
    const ir::NodeId id = graph_.number({.name = name, .type = type}, value);
    named_numbers_.emplace(name, std::pair{id, value});
    return id;
  }
  const auto& [id, old] = known->second;
  if (graph_.type(id) != type || !same_number(old, value)) raise_name_clash(name, "numbers");
  return id;
}

std::string Recorder::unused_capture_name() const {
  const auto& slots = graph_.captures();
  std::size_t index = slots.size();
  std::string name;
  do {
    name = "capture" + std::to_string(index++);
  } while (std::ranges::find(slots, name, &ir::CaptureSlot::name) != slots.end());
  return name;
}

std::uint32_t Recorder::capture(const std::string& name, const TensorView& view) {
  const auto& slots = graph_.captures();
  for (std::uint32_t i = 0; i < slots.size(); ++i) {
    const bool same = same_view(graph_.bindings().captures[i], view);
    if (same && (name.empty() || slots[i].name == name)) return i;
    if (!name.empty() && slots[i].name == name) raise_name_clash(name, "captured tensors");
  }
  const std::string chosen = name.empty() ? unused_capture_name() : name;
  return graph_.capture(
      {.name = chosen, .dtype = view.dtype, .rank = static_cast<std::uint32_t>(view.rank())}, view);
}

Recorder::Scope::Scope(Recorder& recorder) : previous_(current_recorder) {
  current_recorder = &recorder;
}

Recorder::Scope::~Scope() { current_recorder = previous_; }

}  // namespace tilewright::tracing
