#include <string>
#include <utility>

#include "author/access.h"
#include "tilewright/author.h"
#include "tilewright/error.h"

namespace tilewright {

using author::Access;
using tracing::Recorder;

namespace {

constexpr std::int64_t kMaxVectorLength = 512;

[[noreturn]] void raise_subscripts(const ir::CaptureSlot& capture, std::size_t got,
                                   const std::string& expected) {
  throw Error({.code = ErrorCode::kTrace,
               .what = "captured tensor '" + capture.name + "' has the wrong number of subscripts",
               .where = capture.name,
               .expected = expected,
               .got = std::to_string(got),
               .hint = "a mod returns one value: subscript every axis, also those of one entry"});
}

Value load(std::uint32_t capture, const std::vector<Value>& indices) {
  Recorder& recorder = Recorder::current();
  const ir::CaptureSlot& slot = recorder.graph().captures()[capture];
  if (indices.size() != slot.rank)
    raise_subscripts(slot, indices.size(), std::to_string(slot.rank));
  std::vector<ir::NodeId> nodes;
  for (const Value& index : indices) nodes.push_back(Access::node(index));
  return Access::wrap(recorder.graph().load(capture, nodes, recorder.guard()));
}

}  // namespace

Capture::Capture(std::string name, TensorView view) : name_(std::move(name)), view_(view) {}

Subscript Capture::begin() const {
  Recorder& recorder = Recorder::current();
  return {recorder.capture(name_, view_), recorder.id()};
}

Subscript Capture::operator[](const Value& index) const { return begin()[index]; }

Value Capture::load(std::initializer_list<Value> indices) const {
  return tilewright::load(Recorder::current().capture(name_, view_), std::vector<Value>(indices));
}

Vector Capture::entries() const { return begin(); }

Subscript Subscript::operator[](const Value& index) const {
  Subscript deeper = *this;
  deeper.indices_.push_back(index);
  return deeper;
}

void Subscript::require_current() const {
  if (trace_ == Recorder::current().id()) return;
  throw Error({.code = ErrorCode::kTrace,
               .what = "a subscript of another trace is used",
               .where = {},
               .expected = "subscripts made in this call",
               .got = "a subscript that an earlier call stored",
               .hint = "keep the Capture outside and subscript it inside the mod"});
}

Subscript::operator Value() const {
  require_current();
  return load(capture_, indices_);
}
Subscript::operator Score() const { return Score(Value(*this)); }
Subscript::operator Index() const { return Index(Value(*this)); }
Subscript::operator Bool() const { return Bool(Value(*this)); }
Subscript::operator bool() const { return static_cast<bool>(Value(*this)); }

Subscript::operator Vector() const {
  require_current();
  Recorder& recorder = Recorder::current();
  const ir::CaptureSlot& slot = recorder.graph().captures()[capture_];
  if (slot.rank == 0 || indices_.size() + 1 != slot.rank)
    raise_subscripts(
        slot, indices_.size(),
        slot.rank == 0 ? "a tensor with an axis" : std::to_string(slot.rank - 1) + " for a vector");
  const std::int64_t length = recorder.graph().bindings().captures[capture_].shape[slot.rank - 1];
  if (length > kMaxVectorLength) {
    throw Error({.code = ErrorCode::kTrace,
                 .what = "a captured row is too long for a vector",
                 .where = slot.name,
                 .expected = "at most " + std::to_string(kMaxVectorLength) + " entries",
                 .got = std::to_string(length),
                 .hint = "fold long dot products into query and key, with the scale to match"});
  }
  std::vector<Value> entries;
  for (std::int64_t i = 0; i < length; ++i) {
    std::vector<Value> indices = indices_;
    // A position inside the vector is structure, like the vector's length: equal lengths share a
    // kernel.
    indices.push_back(Access::wrap(recorder.graph().literal(i)));
    entries.push_back(load(capture_, indices));
  }
  return Vector(std::move(entries));
}

}  // namespace tilewright
