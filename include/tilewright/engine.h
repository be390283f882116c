#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/backward.h"
#include "tilewright/block_lists.h"
#include "tilewright/device_mask_map.h"
#include "tilewright/problem.h"
#include "tilewright/program.h"
#include "tilewright/tensor.h"

#pragma GCC visibility push(default)

namespace tilewright {

class MaskMap;

/// What may happen when a call needs a kernel that prepare() has not compiled.
enum class CompilePolicy : std::uint8_t { kAllow, kWarn, kForbid };

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarning };

/// The host's memory, threads and log. Every empty member has a default.
struct HostServices {
  /// Workspace on a device, aligned to 256, for work enqueued on `stream`, or null. Must not wait
  /// for the device. Default: a stream-ordered pool of the engine.
  std::function<void*(std::size_t bytes, Device device, void* stream)> allocate_device;
  /// Called right after the work was enqueued: the memory is free again once `stream` has done it.
  std::function<void(void* memory, std::size_t bytes, Device device, void* stream)>
      deallocate_device;

  /// Returns `bytes` bytes aligned to 64, or null.
  std::function<void*(std::size_t bytes)> allocate;
  std::function<void(void* memory, std::size_t bytes)> deallocate;
  /// Runs body(0..count-1), on any threads, and returns when all are done.
  std::function<void(std::int64_t count, const std::function<void(std::int64_t)>& body)>
      parallel_for;
  std::function<void(LogLevel level, std::string_view message)> log;
};

struct EngineOptions {
  CompilePolicy compile_policy = CompilePolicy::kAllow;
  int threads = 0;              ///< 0: affinity and container quota decide
  std::string backend;          ///< "": by device; "reference", "cpu", "cuda" force one
  std::string cpu_isa;          ///< "": widest; amx avx512bf16 avx512 avx2 portable force one (also
                                ///< TILEWRIGHT_CPU_ISA)
  std::string cache_dir;        ///< "": the user's cache folder; "none": memory only
  std::string record_dir;       ///< "": off; failing calls are saved there (also TILEWRIGHT_RECORD)
  bool record_data = false;     ///< the tensors' data too (also TILEWRIGHT_RECORD_DATA)
  bool require_fast = false;    ///< refuse kernels that a slower path would have to serve
  bool checked = false;         ///< device kernels report bad subscripts and divisors, see
                                ///< check_device_errors() (also TILEWRIGHT_CHECKED)
  bool fast_functions = false;  ///< device kernels take tanh and sigmoid in their fast form, whose
                                ///< tolerance has a row of its own (docs/numerics.md)
  bool deterministic = false;   ///< gradients on devices are added up in a fixed order, see
                                ///< CallOptions::deterministic (also TILEWRIGHT_DETERMINISTIC)
  std::string nvrtc;        ///< "": searched for; a libnvrtc or its folder (also TILEWRIGHT_NVRTC)
  std::string cuda_driver;  ///< "": libcuda.so.1 (also TILEWRIGHT_CUDA_DRIVER)
  std::string kernel_dir;   ///< "": the kernel sources inside the library; a folder that holds
                            ///< kernels/cuda's files instead (also TILEWRIGHT_KERNEL_DIR)
  HostServices host;
};

/// Monotonic counters since the engine was made.
struct EngineStats {
  std::int64_t compiles = 0;
  std::int64_t memory_hits = 0;
  std::int64_t disk_hits = 0;
  double compile_ms = 0;
  std::int64_t calls = 0;
  std::size_t workspace_bytes_peak = 0;
  struct Choice {
    std::string kernel;
    std::int64_t calls = 0;
  };
  std::vector<Choice> kernels;
};

/// query [B, Hq, Q, E], key [Bkv, Hkv, KV, E], value [Bkv, Hkv, KV, Ev]; any strides.
struct ForwardInputs {
  TensorView query, key, value;
};

/// out [B, Hq, Q, Ev]; lse and max_scores [B, Hq, Q] fp32 (fp64 for fp64 inputs). Absent ones are
/// not computed.
struct ForwardOutputs {
  TensorView out;
  std::optional<TensorView> lse = {}, max_scores = {};
};

/// What one call did; `kernel` is the row that ran and `path` says why.
struct CallReport {
  std::string kernel;
  std::string path;
  bool slow_path = false;
  bool deterministic = true;  ///< the same call gives the same bits
};

/// Per-call extras.
struct CallOptions {
  std::optional<double> scale =
      std::nullopt;  ///< of a prepared attention: absent keeps the prepared scale
  const BlockLists* block_lists =
      nullptr;  ///< authoritative tile sets (semantics R3); of Engine's own calls only
  /// The spans of the program's mask, which spares making them, so that one map serves every layer;
  /// not together with block lists. An Error unless it was built from this program with the
  /// numbers, captured tensors and lengths of this call; values that captured tensors hold must not
  /// have changed since.
  const MaskMap* mask_map = nullptr;
  /// Forward on a device: the same in the device's memory; not together with block lists or a
  /// mask_map. Made by Engine::build_mask_map, on this stream or before it.
  const DeviceMaskMap* device_map = nullptr;
  /// i32 [B] in the tensors' memory: keys of each batch entry (a device reads it when kernels run;
  /// a replayed graph anew). Keys and values past a length are dead slots: they may hold anything,
  /// gradients there are 0. Numbers outside 0 to KV count as the nearest. Backward takes forward's.
  const TensorView* kv_lengths = nullptr;
  void* stream =
      nullptr;  ///< CUstream (cudaStream_t) of the tensors' device; null: the default one
  /// Backward: the same bits on every run. The CPU always keeps this; a device adds up gradients
  /// in a fixed order where it is set here or by the engine, and throws Error{kUnsupported} where
  /// it cannot. Forward is deterministic everywhere.
  bool deterministic = false;
};

/// A prepared attention: kernels compiled, captures and numbers rebindable by name. Calls from many
/// threads are safe; rebinding while another thread calls is not.
class Attention {
 public:
  ~Attention();
  Attention(Attention&&) noexcept;
  Attention& operator=(Attention&&) noexcept;

  /// True once every kernel that a call may need is compiled.
  bool ready() const;
  /// Waits for ready(); rethrows what compiling threw.
  void wait() const;

  void bind(std::string_view capture, const TensorView& view);
  void set(std::string_view number, double value);
  void set(std::string_view number, std::int64_t value);
  void set(std::string_view number, int value) { set(number, static_cast<std::int64_t>(value)); }

  /// Bytes that forward() needs; 0 where the backend takes none.
  std::size_t workspace_bytes() const;
  /// Runs. Lengths, strides, batch and values may differ from the prepared problem's; dtypes and
  /// dims may not.
  /// On a device it enqueues on options.stream and returns; the caller synchronises.
  CallReport forward(const ForwardInputs& inputs, const ForwardOutputs& outputs,
                     const CallOptions& options = {}) const;

  /// Gradients of a forward call with these tensors, numbers and captures (semantics R6, R7); the
  /// same freedom as forward(). On the CPU every gradient is deterministic: the same bits on every
  /// run and for any number of threads. On a device it enqueues on options.stream and returns.
  /// Throws Error for a captured tensor that has no gradient (unknown names, integers) and for
  /// outputs that do not fit.
  CallReport backward(const BackwardInputs& inputs, const BackwardOutputs& outputs,
                      const CallOptions& options = {}) const;
  /// Compiles what backward() for these gradients needs; without it the first backward() does.
  void prepare_backward(const GradientSet& gradients = {}) const;

  /// Text of one stage: program, facts, plan, source, derivative, or all.
  std::string explain(std::string_view stage) const;
  const Problem& problem() const noexcept;
  const Program& program() const noexcept;

 private:
  friend class Engine;
  struct State;
  explicit Attention(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Owns devices, caches and the pool. Thread-safe. Nothing is global: two engines share no state.
class Engine {
 public:
  explicit Engine(EngineOptions options = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Compiles all that a call with this program and problem may need. With `async` it returns at
  /// once.
  Attention prepare(const Program& program, const Problem& problem, bool async = false);
  Attention prepare(const Program& program, const Problem& problem, const BlockLists& lists);

  /// One call, prepared and cached behind the scenes.
  CallReport attention(const Program& program, const ForwardInputs& inputs,
                       const ForwardOutputs& outputs, const CallOptions& options = {});
  /// The gradients of such a call; see Attention::backward.
  CallReport attention_backward(const Program& program, const BackwardInputs& inputs,
                                const BackwardOutputs& outputs, const CallOptions& options = {});

  /// Enqueues on `stream` what makes `map` in its memory, anew each time, also in a replayed graph,
  /// from captured tensors as they are then. `problem` is that of the attention calls to come; only
  /// its batch and lengths must be the map's. Throws Error{kUnsupported} on the CPU and for dims
  /// that no kernel with lists serves.
  void build_mask_map(const DeviceMaskMap& map, const Problem& problem, void* stream = nullptr);

  /// Throws what kernels on devices have reported since the last call of this: a live subscript
  /// outside its tensor or a live division by zero, in checked mode (semantics R8, R9). Looks at
  /// what has arrived; synchronise the stream first to be sure. The next call on the device throws
  /// it too.
  void check_device_errors() const;

  EngineStats stats() const;
  const EngineOptions& options() const noexcept;

 private:
  friend class Attention;
  struct State;
  std::shared_ptr<State> state_;
};

/// The problem that these tensors state. Throws Error naming the tensor for every mismatch (ranks,
/// heads, batch, dims, devices, dtypes).
Problem problem_from(const ForwardInputs& inputs, const ForwardOutputs& outputs);

/// Merges partial results by lse (semantics R5): out and lse [B, H, Q(, Ev)] in fp32 or fp64,
/// written to `into`.
void merge_partials(const ForwardOutputs& a, const ForwardOutputs& b, const ForwardOutputs& into);

}  // namespace tilewright

#pragma GCC visibility pop
