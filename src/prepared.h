#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "analyse/facts.h"
#include "backends/contract/backend.h"
#include "cache/disk_store.h"
#include "cache/memory_store.h"
#include "gradient_stage.h"
#include "plan/plan.h"
#include "tilewright/engine.h"

namespace tilewright {

/// Counters behind Engine::stats(). A call takes no lock.
class StatsBoard {
 public:
  using CallCount = std::atomic<std::int64_t>;

  void compiled(double milliseconds);
  void hit() noexcept;
  void disk_hit();
  /// Calls of a kernel so far, kept as long as this board.
  CallCount& calls_of(const std::string& kernel);
  void called(CallCount& count, std::size_t workspace_bytes) noexcept;
  EngineStats read() const;

 private:
  mutable std::mutex mutex_;
  EngineStats stats_;  ///< of compiles
  std::map<std::string, CallCount> calls_by_kernel_;
  std::atomic<std::int64_t> memory_hits_ = 0;
  std::atomic<std::size_t> workspace_bytes_peak_ = 0;
};

struct CallParts;
struct BackwardParts;

/// What an engine owns.
struct EngineCore {
  EngineOptions options;
  std::vector<std::shared_ptr<const backends::Backend>> backends;
  cache::MemoryStore<backends::Kernel> kernels;
  std::unique_ptr<cache::DiskStore> disk;
  StatsBoard stats;

  /// The backend for a device. Throws Error{kUnsupported} naming what is missing.
  const backends::Backend& backend_for(Device device) const;
  /// Whether a backward call needs kernels that add in a fixed order; on the CPU all of them do.
  bool fixes_order(Device device, bool asked) const noexcept {
    return device.kind != DeviceKind::kCpu && (asked || options.deterministic);
  }
  void log(LogLevel level, const std::string& message) const;
};

/// What a call asks of a kernel beside its class of problems.
struct Demands {
  bool any_layout = false;      ///< its tensors lie where the planned kernel cannot reach them
  bool block_lists = false;     ///< on a device: the kernel walks block lists or a map's spans
  bool backward = false;        ///< on a device: a kernel of backward
  bool device_lengths = false;  ///< the kernel reads key lengths on the device
  int length_class = 0;         ///< of the backend
  std::size_t index() const noexcept {
    return (any_layout ? 1U : 0U) + (block_lists ? 2U : 0U) + (backward ? 4U : 0U) +
           (device_lengths ? 8U : 0U) + 16U * static_cast<std::size_t>(length_class);
  }
};

/// Everything about a structure and a class of problems that numbers, lengths, strides and tables
/// do not change, and what was found for the numbers of the latest calls. Thread-safe.
class Prepared {
 public:
  /// Plans for the class of the problem's lengths.
  Prepared(std::shared_ptr<EngineCore> core, const Program& program, const Problem& problem);

  /// This one, or its sibling for calls that demand more of a kernel.
  Prepared& serving(const CallParts& call);
  Prepared& serving(const BackwardParts& call);
  /// Where backward is planned: on the CPU here, on a device in a sibling, which walks lists where
  /// this one does.
  Prepared& for_backward(const Program& program, const Problem& problem);
  /// The sibling whose kernels walk block lists or the spans of a map; this one on the host.
  Prepared& for_spans(const Program& program, const Problem& problem);
  /// This one and all that a later call without lists of its own may take: for each class of
  /// lengths, with key lengths on the device and without, and for spans.
  std::vector<Prepared*> for_all_calls(const Program& program, const Problem& problem);

  const plan::Plan& plan() const noexcept { return plan_; }
  /// What the plan says of a call that went well; counts the call.
  CallReport called(std::size_t workspace_bytes) const {
    core_->stats.called(*calls_, workspace_bytes);
    return report_;
  }
  CallReport called_backward(std::size_t workspace_bytes) const {
    core_->stats.called(*backward_calls_, workspace_bytes);
    return report_;
  }
  const analyse::StructureFacts& facts() const noexcept { return facts_; }
  const backends::Backend& backend() const noexcept { return *backend_; }

  /// Facts for these bindings; remembered unless tables decide them.
  analyse::BindingFacts binding_facts(const Program& program, const Problem& problem);
  /// The variant that these facts allow, with what the structure cannot tell apart folded together.
  backends::Variant variant(const analyse::BindingFacts& facts) const;
  /// The variant of a call; remembered as facts are.
  backends::Variant variant_of(const Program& program, const Problem& problem);
  /// What prepare() compiles: on a device, where a compile takes seconds and calls may compile, the
  /// variant of these bindings and lengths; else every variant that a call can need.
  std::vector<backends::Variant> variants_to_prepare(const Program& program,
                                                     const Problem& problem);
  /// Every variant that a call of this structure can need.
  std::vector<backends::Variant> reachable_variants(const Program& program,
                                                    const Problem& problem) const;
  /// Compiled code; compiles under the policy. `preparing`: the policy governs later compiles only.
  std::shared_ptr<const backends::Kernel> kernel(const Program& program, const Problem& problem,
                                                 backends::Variant variant, bool preparing);
  /// The derivatives for these gradients; the structure must be that of `program`.
  std::shared_ptr<const GradientStage> gradient(const Program& program,
                                                const ir::DerivativeRequest& request) {
    return gradients_.get(program.structure(), request);
  }
  /// As kernel(), for the backward.
  std::shared_ptr<const backends::Kernel> backward_kernel(const GradientStage& stage,
                                                          const Problem& problem,
                                                          backends::Variant variant,
                                                          bool preparing);
  bool has_kernel(const Program& program, const Problem& problem, backends::Variant variant) const;

  /// What a call without block lists runs with.
  struct Resolved {
    std::shared_ptr<const backends::Kernel> kernel;
    std::shared_ptr<const MaskMap> map;
  };
  /// Kernel and spans of a call; at once where the call before had the same lengths, numbers, views
  /// and table contents.
  Resolved resolve(const Program& program, const Problem& problem);

  /// The spans of a masked call; null where the mask needs none. Remembered unless tables decide
  /// them.
  /// @param q_block  query rows of one list of spans
  std::shared_ptr<const MaskMap> map(const Program& program, const Problem& problem,
                                     std::int64_t q_block);

 private:
  struct Memo {
    std::optional<analyse::BindingFacts> facts;
    std::optional<backends::Variant> variant;
    std::shared_ptr<const MaskMap> map;
  };
  struct LastCall;
  Prepared(std::shared_ptr<EngineCore> core, const Program& program, const Problem& problem,
           Demands demands);
  /// This one, or what is made when first needed; `why` goes in front of the plan's reasons.
  Prepared& sibling(const Program& program, const Problem& problem, const Demands& demands,
                    const std::string& why);
  /// The report of calls, once the plan is complete.
  void write_report();
  backends::EmitRequest request(const Program& program, const Problem& problem,
                                backends::Variant variant) const;
  std::shared_ptr<const backends::Kernel> kernel_for(const backends::EmitRequest& wanted,
                                                     bool preparing);
  std::shared_ptr<const backends::Kernel> compile(const backends::EmitRequest& request);
  cache::Entry compile_entry(const backends::EmitRequest& request, const backends::Source& source);
  /// Whether integers fit 32 bits for every length and number that a call may bring.
  bool always_fits_int32(const Program& program, const Problem& problem) const;
  void require_allowed(const std::string& kernel) const;
  Digest memo_key(const Program& program, const Problem& problem, std::int64_t q_block = 0) const;
  Memo recall(const Digest& key);
  void remember(const Digest& key, const Memo& memo);

  std::shared_ptr<EngineCore> core_;
  const backends::Backend* backend_;
  analyse::StructureFacts facts_;
  plan::Plan plan_;
  CallReport report_;
  StatsBoard::CallCount *calls_ = nullptr, *backward_calls_ = nullptr;
  bool on_host_ = true;  ///< captured tables can be read here
  bool tables_decide_ =
      false;  ///< integer or truth tables are read: their values decide facts and maps
  bool has_integers_ = false;
  bool has_faults_ = false;  ///< some subscript or division could be bad
  GradientStages gradients_;
  std::mutex mutex_;
  std::map<Digest, Memo> memos_;
  Demands demands_;
  std::map<std::size_t, std::unique_ptr<Prepared>> siblings_;  ///< by Demands::index
  std::shared_ptr<const LastCall> last_;
};

}  // namespace tilewright
