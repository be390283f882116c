#include "trace_session.h"

#include <algorithm>

#include "author/access.h"
#include "bindings.h"
#include "python_function.h"
#include "tensor_views.h"
#include "tilewright/error.h"

namespace tilewright::python {

namespace {

thread_local TraceSession* running_session = nullptr;

PythonFunction names_in{"tilewright._operands", "names_in"};
PythonFunction same_capture{"tilewright._operands", "same_capture"};

}  // namespace

TraceSession::TraceSession(TraceRequest request)
    : request_(std::move(request)), previous_(running_session) {
  running_session = this;
}

TraceSession::~TraceSession() { running_session = previous_; }

TraceSession* TraceSession::running() noexcept { return running_session; }

TraceSession& TraceSession::current() {
  if (running_session != nullptr) return *running_session;
  throw Error({.code = ErrorCode::kTrace,
               .what = "a symbolic value is used outside the tracing of its mod",
               .where = {},
               .expected = "symbols only inside a score_mod or mask_mod",
               .got = {},
               .hint = "mods must not store their arguments"});
}

std::string TraceSession::name_of(nb::handle tensor) {
  for (const auto& [object, name] : names_)
    if (object == tensor.ptr()) return nb::cast<std::string>(name);
  if (!found_.is_valid()) found_ = names_in(request_.score_mod, request_.mask_mod);
  const auto identity = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(tensor.ptr()));
  const nb::dict found = nb::borrow<nb::dict>(found_);
  const nb::int_ key(identity);
  return found.contains(key) ? nb::cast<std::string>(found[key]) : std::string();
}

const TraceSession::Captured* TraceSession::known(nb::handle tensor) const noexcept {
  for (const Captured& one : captured_)
    if (one.tensor.is(tensor)) return &one;
  for (const auto& [alias, place] : aliases_)
    if (alias.is(tensor)) return &captured_[place];
  return nullptr;
}

TraceSession::Captured* TraceSession::same_as_before(nb::handle tensor) {
  for (std::size_t place = 0; place < captured_.size(); ++place) {
    const nb::object& other = captured_[place].tensor;
    if (!other.type().is(tensor.type())) continue;
    if (!nb::cast<bool>(same_capture(other, tensor))) continue;
    aliases_.emplace_back(nb::borrow(tensor), place);
    return &captured_[place];
  }
  return nullptr;
}

std::string TraceSession::unused(std::string name) const {
  const auto taken = [&] {
    return std::ranges::find(captured_, name, &Captured::name) != captured_.end() ||
           std::ranges::find(noted_, name, &Noted::first) != noted_.end();
  };
  while (taken()) name += '_';
  return name;
}

TraceSession::Captured& TraceSession::captured(nb::handle tensor) {
  if (const Captured* one = known(tensor)) return const_cast<Captured&>(*one);
  std::string name = name_of(tensor);
  if (name.empty()) {
    if (Captured* one = same_as_before(tensor)) return *one;
    name = "capture" + std::to_string(captured_.size());
  }
  Captured fresh{.tensor = nb::borrow(tensor), .kept = {}, .name = unused(name), .view = {}};
  fresh.view = view_of_operand(tensor, fresh.name, fresh.kept);
  captured_.push_back(std::move(fresh));
  return captured_.back();
}

nb::object TraceSession::load(nb::handle tensor, std::span<const ir::NodeId> indices) {
  Captured& one = captured(tensor);
  tracing::Recorder& recorder = tracing::Recorder::current();
  if (one.slot == ir::kNoNode) one.slot = recorder.capture(one.name, one.view);
  return wrap(author::Access::wrap(recorder.graph().load(one.slot, indices, recorder.guard())));
}

std::size_t TraceSession::rank_of(nb::handle tensor) const {
  if (const Captured* one = known(tensor)) return one->view.rank();
  return nb::cast<std::size_t>(tensor.attr("ndim"));
}

void TraceSession::note(const std::string& name, nb::handle tensor) {
  if (std::ranges::find(noted_, name, &Noted::first) == noted_.end())
    noted_.emplace_back(name, nb::borrow(tensor));
}

std::string TraceSession::name_for(const std::string& name, nb::handle tensor) const {
  for (const auto& [noted, owner] : noted_)
    if (owner.is(tensor)) return noted;
  if (const Captured* one = known(tensor)) return one->name;
  return unused(name);
}

std::vector<nb::object> TraceSession::owners(const ir::Program& program,
                                             std::vector<nb::object>& kept) const {
  std::vector<nb::object> owners;
  for (const ir::CaptureSlot& slot : program.captures()) {
    const auto found = std::ranges::find(captured_, slot.name, &Captured::name);
    const auto noted = std::ranges::find(noted_, slot.name, &Noted::first);
    if (found != captured_.end()) {
      owners.push_back(found->tensor);
      if (found->kept.is_valid()) kept.push_back(found->kept);
    } else {
      owners.push_back(noted == noted_.end() ? nb::none() : noted->second);
    }
  }
  return owners;
}

}  // namespace tilewright::python
