#include "tilewright/program.h"

#include <algorithm>
#include <utility>

#include "author/access.h"
#include "ir/program.h"
#include "ir/text.h"
#include "tilewright/error.h"
#include "trace/tracer.h"

namespace tilewright {

using author::Access;
using tracing::Recorder;

namespace {

template <class Slots>
std::size_t slot_named(const Slots& slots, std::string_view name, const char* kind) {
  std::string known;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!slots[i].name.empty() && slots[i].name == name) return i;
    if (slots[i].name.empty()) continue;
    known += known.empty() ? slots[i].name : ", " + slots[i].name;
  }
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = std::string("the program has no ") + kind + " of this name",
               .where = std::string(name),
               .expected = known.empty() ? std::string("no names: it has none") : "one of " + known,
               .got = std::string(name),
               .hint = {}});
}

void require_bindable(const ir::CaptureSlot& slot, const TensorView& view) {
  if (view.dtype == slot.dtype && view.rank() == slot.rank) return;
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = "a captured tensor cannot be rebound to another dtype or rank",
               .where = slot.name,
               .expected = std::string(name(slot.dtype)) + ", rank " + std::to_string(slot.rank),
               .got = std::string(name(view.dtype)) + ", rank " + std::to_string(view.rank()),
               .hint = "dtype and rank are structure: trace the mod again"});
}

Value input(Recorder& recorder, ir::Op op) { return Access::wrap(recorder.graph().input(op)); }

ir::NodeId run_score_mod(Recorder& recorder, const ScoreMod& mod) {
  const Value result =
      mod(Score(input(recorder, ir::Op::kScore)), Index(input(recorder, ir::Op::kBatch)),
          Index(input(recorder, ir::Op::kHead)), Index(input(recorder, ir::Op::kQuery)),
          Index(input(recorder, ir::Op::kKey)));
  return recorder.graph().promote(Access::node(result), ir::Type::kFloat);
}

ir::NodeId run_mask_mod(Recorder& recorder, const MaskMod& mod) {
  const Value result =
      mod(Index(input(recorder, ir::Op::kBatch)), Index(input(recorder, ir::Op::kHead)),
          Index(input(recorder, ir::Op::kQuery)), Index(input(recorder, ir::Op::kKey)));
  return recorder.graph().promote(Access::node(result), ir::Type::kBool);
}

template <class Slots>
std::vector<std::string> names_of(const Slots& slots) {
  std::vector<std::string> names;
  for (const auto& slot : slots)
    if (!slot.name.empty()) names.push_back(slot.name);
  return names;
}

}  // namespace

Program::Program() : Program(std::make_shared<ir::Program>(), ir::Bindings{}) {}
Program::Program(std::shared_ptr<const ir::Program> structure, ir::Bindings bindings)
    : structure_(std::move(structure)),
      bindings_(std::make_unique<ir::Bindings>(std::move(bindings))) {}
Program::Program(const Program& other)
    : structure_(other.structure_), bindings_(std::make_unique<ir::Bindings>(*other.bindings_)) {}
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(const Program& other) { return *this = Program(other); }
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

Program Program::parse(std::string_view text, const std::vector<Capture>& captures,
                       const std::vector<Number>& numbers) {
  ir::Declarations declared;
  for (const Capture& capture : captures)
    declared.captures.emplace_back(
        ir::CaptureSlot{.name = capture.name(),
                        .dtype = capture.view().dtype,
                        .rank = static_cast<std::uint32_t>(capture.view().rank())},
        capture.view());
  for (const Number& number : numbers)
    declared.numbers.emplace_back(
        ir::NumberSlot{.name = number.name(),
                       .type = number.is_float() ? ir::Type::kFloat : ir::Type::kInt},
        ir::NumberValue{.real = number.real(), .integer = number.integer()});
  auto [structure, bindings] = ir::parse(text, declared);
  return {std::make_shared<ir::Program>(std::move(structure)), std::move(bindings)};
}

std::string Program::text() const { return ir::print(*structure_, *bindings_); }

void Program::bind(std::string_view capture, const TensorView& view) {
  const std::size_t slot = slot_named(structure_->captures(), capture, "captured tensor");
  require_bindable(structure_->captures()[slot], view);
  bindings_->captures[slot] = view;
}

void Program::set(std::string_view number, double value) {
  const std::size_t slot = slot_named(structure_->numbers(), number, "number");
  if (structure_->numbers()[slot].type == ir::Type::kInt) {
    throw Error({.code = ErrorCode::kInvalidArgument,
                 .what = "an integer number cannot be set to a float",
                 .where = std::string(number),
                 .expected = "an integer",
                 .got = std::to_string(value),
                 .hint = {}});
  }
  bindings_->numbers[slot].real = value;
}

void Program::set(std::string_view number, std::int64_t value) {
  const std::size_t slot = slot_named(structure_->numbers(), number, "number");
  if (structure_->numbers()[slot].type == ir::Type::kInt)
    bindings_->numbers[slot].integer = value;
  else
    bindings_->numbers[slot].real = static_cast<double>(value);
}

bool Program::has_score_mod() const noexcept { return structure_->roots().score.has_value(); }
bool Program::has_mask_mod() const noexcept { return structure_->roots().mask.has_value(); }
std::vector<std::string> Program::capture_names() const { return names_of(structure_->captures()); }
std::vector<std::string> Program::number_names() const { return names_of(structure_->numbers()); }
std::string Program::structure_digest() const { return hex(structure_->structure_digest()); }
std::string Program::content_digest() const {
  return hex(ir::content_digest(*structure_, *bindings_));
}

Program trace_mods(const ScoreMod& score_mod, const MaskMod& mask_mod) {
  Recorder recorder;
  ir::Roots roots;
  if (mask_mod)
    roots.mask =
        tracing::Tracer(recorder, 'm', [&] { return run_mask_mod(recorder, mask_mod); }).trace();
  if (score_mod)
    roots.score =
        tracing::Tracer(recorder, 's', [&] { return run_score_mod(recorder, score_mod); }).trace();
  auto [structure, bindings] = recorder.graph().finish(roots);
  return {std::make_shared<ir::Program>(std::move(structure)), std::move(bindings)};
}

}  // namespace tilewright
