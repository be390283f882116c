#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/facts.h"
#include "base/digest.h"
#include "ir/differentiate.h"
#include "ir/program.h"
#include "plan/plan.h"
#include "tilewright/engine.h"
#include "tilewright/mask_map.h"
#include "tilewright/target.h"

namespace tilewright::backends {

/// Facts about numbers, lengths and tables that pick the code of a structure at run time; at most
/// four a structure.
struct Variant {
  bool fits_int32 = false;      ///< integers may be computed in 32 bits
  bool checked = true;          ///< live subscripts and divisors must be checked
  bool reports = false;         ///< device code only: checks also tell the host (checked mode, R8)
  bool fast_functions = false;  ///< device code only: tanh and sigmoid in their fast form
  bool ordered = false;         ///< device code of backward only: sums have a fixed order
  bool operator==(const Variant&) const = default;
};

/// What emit turns into source: a structure and a variant of it, for one plan.
struct EmitRequest {
  const ir::Program& program;
  const analyse::StructureFacts& facts;
  const plan::Plan& plan;
  const Problem& problem;
  Variant variant;
  /// Null: a kernel of the forward. Else one of the backward; program and facts are then those of
  /// the derivative's program.
  const ir::Derivative* derivative = nullptr;
};

/// What the rows that may serve depend on, beside the machine.
struct LimitsRequest {
  const ir::Program& program;
  const analyse::StructureFacts& facts;
  const Problem& problem;
  bool any_layout = false;   ///< only rows that read and write tensors of any strides and alignment
  bool block_lists = false;  ///< only rows that walk block lists
  bool device_lengths = false;  ///< only rows that read key lengths on the device
  bool backward = false;        ///< rows of backward, where they are others than those of forward
  bool fast_functions = false;  ///< of the engine's options
  int length_class = 0;         ///< of Backend::length_class
};

/// What the cache sits behind: readable text, and what names the code it becomes.
struct Source {
  std::string kernel_name;
  std::string text;
  std::string toolchain;  ///< compiler, its version and its flags, target included
  /// The text in a form that compile need not read again, or null; compile may use it up.
  std::shared_ptr<void> parsed = nullptr;
};

/// Compiled code as bytes: an object file (CPU) or a cubin (CUDA), with what load must know.
struct Binary {
  std::string bytes;
  std::string entry_points;  ///< one a line
};

/// One call, checked and planned; everything it points to outlives launch.
struct Launch {
  const Program& program;
  const Problem& problem;
  const plan::Plan& plan;
  const ForwardInputs& inputs;
  const ForwardOutputs& outputs;
  const MaskMap* map = nullptr;  ///< null: every pair is visited (and masked by the program)
  const BlockLists* lists =
      nullptr;  ///< what the map was made from: its full spans skip mask_mod (semantics R3)
  const DeviceMaskMap* device_map = nullptr;  ///< of a device: spans in its memory
  const TensorView* kv_lengths = nullptr;  ///< i32 [B] of the tensors' device, read by the kernel
  const HostServices& host;
  void* stream = nullptr;  ///< of a device; null: its default one
};

/// What makes a map in a device's memory.
struct MapLaunch {
  const DeviceMaskMap& map;
  const Problem& problem;
  const plan::Plan& plan;
  const HostServices& host;
  void* stream = nullptr;
};

/// One backward call, as Launch. The outputs may hold fewer gradients than the kernel's derivative
/// has.
struct BackwardLaunch {
  const Program& program;  ///< the forward's
  const Problem& problem;
  const plan::Plan& plan;
  const ir::Derivative& derivative;
  const BackwardInputs& inputs;
  const BackwardOutputs& outputs;
  const MaskMap* map = nullptr;
  const BlockLists* lists = nullptr;
  const TensorView* kv_lengths = nullptr;  ///< as in Launch
  const HostServices& host;
  void* stream = nullptr;  ///< of a device; null: its default one
};

/// Code ready to run. Thread-safe.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual std::size_t workspace_bytes(const Program& program, const Problem& problem) const = 0;
  /// What a call with lists, or with a map, takes on top; one of them may be null.
  virtual std::size_t span_bytes(const BlockLists* lists, const MaskMap* map) const {
    static_cast<void>(lists), static_cast<void>(map);
    return 0;
  }
  /// Runs to the end on the CPU; enqueues on a device. Returns the workspace bytes it took. Throws
  /// the run-time index errors of R8 and R9.
  virtual std::size_t launch(const Launch& launch) const = 0;
  /// Enqueues what makes a mask map on a device; for kernels of rows that walk lists. Backends
  /// without a device leave it: it throws Error{kUnsupported}.
  virtual void build_map(const MapLaunch& launch) const;
  /// The same for a kernel whose request had a derivative. Backends without a backward leave it:
  /// it throws Error{kUnsupported}.
  virtual std::size_t launch_backward(const BackwardLaunch& launch) const;
};

/// A folder of backends/: the same stages for each, from value to value. Nothing here calls back
/// up.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const noexcept = 0;
  virtual TargetInfo info() const = 0;
  virtual plan::Limits limits(const LimitsRequest& request) const = 0;
  /// Why the planned kernel cannot read or write these tensors where they lie, so that a row for
  /// any layout must; empty where it can.
  virtual std::string layout_rejection(const plan::Plan& plan, const ForwardInputs& inputs,
                                       const ForwardOutputs& outputs) const {
    static_cast<void>(plan), static_cast<void>(inputs), static_cast<void>(outputs);
    return {};
  }
  /// As above, for a kernel of backward.
  virtual std::string layout_rejection(const plan::Plan& plan, const BackwardInputs& inputs,
                                       const BackwardOutputs& outputs) const {
    static_cast<void>(plan), static_cast<void>(inputs), static_cast<void>(outputs);
    return {};
  }

  /// Problems of a class prefer the same rows whatever their other lengths are; classes are
  /// numbered from 0, and any row of any class is right for every length.
  virtual int length_class(const ir::Program& program, const Problem& problem) const {
    static_cast<void>(program), static_cast<void>(problem);
    return 0;
  }
  virtual int length_classes() const { return 1; }
  /// Lengths, batch and heads of a call stay below it; 0 where nothing is known.
  virtual std::int64_t extent_limit() const { return 0; }

  virtual Source emit(const EmitRequest& request) const = 0;
  /// `source` is what emit made of the request.
  virtual Binary compile(const EmitRequest& request, const Source& source) const = 0;
  virtual std::shared_ptr<const Kernel> load(const EmitRequest& request,
                                             const Binary& binary) const = 0;
  /// Names the kernel in memory without emitting: structure, variant, plan and target.
  virtual Digest fast_key(const EmitRequest& request) const = 0;
  /// Throws what kernels have reported since the last time (checked mode).
  virtual void check_errors() const {}
};

/// What backends take from the engine's options and the environment.
struct BackendOptions {
  int threads = 0;
  std::string cpu_isa;
  std::string cuda_driver;
  std::string nvrtc;
  std::string kernel_dir;
  std::string virtual_env;                 ///< a Python environment that may hold NVRTC
  std::vector<std::string> cuda_toolkits;  ///< folders that the environment names
};

}  // namespace tilewright::backends
