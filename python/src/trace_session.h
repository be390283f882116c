#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/node.h"
#include "ir/program.h"
#include "tilewright/tensor.h"

namespace nb = nanobind;

namespace tilewright::python {

/// Mods as the user wrote them, and what symbols answer when asked for a device or a dtype.
struct TraceRequest {
  nb::object score_mod, mask_mod;
  nb::object device, dtype;
};

/// The captured tensors of the trace that runs on this thread, and how its mods call them.
class TraceSession {
 public:
  explicit TraceSession(TraceRequest request);
  ~TraceSession();
  TraceSession(const TraceSession&) = delete;
  TraceSession& operator=(const TraceSession&) = delete;

  /// Null outside a trace.
  static TraceSession* running() noexcept;
  /// Throws Error{kTrace} outside a trace.
  static TraceSession& current();

  const TraceRequest& request() const noexcept { return request_; }

  /// The tensor is called so, whatever its mod calls it; the first name stays.
  void call(nb::handle tensor, nb::handle name) { names_.emplace_back(tensor.ptr(), name); }
  /// How the mods' source calls the tensor; "" where that cannot be seen.
  std::string name_of(nb::handle tensor);

  /// An element of a tensor; one index per axis.
  nb::object load(nb::handle tensor, std::span<const ir::NodeId> indices);
  /// The axes of a tensor.
  std::size_t rank_of(nb::handle tensor) const;
  /// A catalogue mod that is being traced has captured this tensor under this name.
  void note(const std::string& name, nb::handle tensor);

  /// What a catalogue mod calls a tensor here: `name`, unless another one has it.
  std::string name_for(const std::string& name, nb::handle tensor) const;

  /// Tensors in the order of a program's slots; what keeps copies alive is added to `kept`.
  std::vector<nb::object> owners(const ir::Program& program, std::vector<nb::object>& kept) const;

 private:
  struct Captured {
    nb::object tensor;
    nb::object kept;  ///< a View that holds the memory, where it is not the tensor's own
    std::string name;
    TensorView view;
    std::uint32_t slot = ir::kNoNode;
  };

  using Noted = std::pair<std::string, nb::object>;

  const Captured* known(nb::handle tensor) const noexcept;
  Captured& captured(nb::handle tensor);
  Captured* same_as_before(nb::handle tensor);
  std::string unused(std::string name) const;

  TraceRequest request_;
  TraceSession* previous_;
  std::vector<Captured> captured_;
  /// Tensors that mods make anew whenever they run, and the captured one that each equals.
  std::vector<std::pair<nb::object, std::size_t>> aliases_;
  std::vector<Noted> noted_;
  std::vector<std::pair<PyObject*, nb::handle>> names_;
  nb::object found_;  ///< names by identity, from attributes too; made when first needed
};

}  // namespace tilewright::python
