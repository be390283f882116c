#pragma once

#include <future>
#include <memory>
#include <optional>

#include "prepared.h"
#include "tilewright/engine.h"

namespace tilewright {

/// One call, its problem already checked for itself.
struct CallParts {
  const Program& program;
  const Problem& problem;
  const ForwardInputs& inputs;
  const ForwardOutputs& outputs;
  const BlockLists* lists = nullptr;
  const MaskMap* map = nullptr;  ///< spans of the lists or of the mask, where they are known
  const DeviceMaskMap* device_map = nullptr;
  const TensorView* kv_lengths = nullptr;
  void* stream = nullptr;
};

/// The flow from facts to launch.
CallReport run_call(EngineCore& core, Prepared& prepared, const CallParts& call);

/// One backward call, its problem already checked for itself.
struct BackwardParts {
  const Program& program;
  const Problem& problem;
  const BackwardInputs& inputs;
  const BackwardOutputs& outputs;
  const BlockLists* lists = nullptr;
  const MaskMap* map = nullptr;  ///< spans of the lists or of the mask, where they are known
  const TensorView* kv_lengths = nullptr;
  void* stream = nullptr;
  bool deterministic = false;
};

CallReport run_backward(EngineCore& core, Prepared& prepared, const BackwardParts& call);

/// Refuses a call whose dtypes, dims or device are not those that were prepared.
void require_same_class(const Problem& prepared, const Problem& called);

struct Attention::State {
  State(std::shared_ptr<EngineCore> engine_core, std::shared_ptr<Prepared> structure,
        Program traced, const Problem& asked)
      : core(std::move(engine_core)),
        prepared(std::move(structure)),
        program(std::move(traced)),
        problem(asked) {}

  /// Compiles every reachable variant, here or on another thread.
  void compile_all(bool async);
  /// What serves the prepared problem: with lists, what walks them.
  Prepared& planned() const;
  /// What prepare() compiles; where later calls may not compile, all that
  /// they may need.
  std::vector<Prepared*> to_compile() const;
  void use_lists(const BlockLists& block_lists);
  CallReport forward(const ForwardInputs& inputs, const ForwardOutputs& outputs,
                     const CallOptions& options) const;

  std::shared_ptr<EngineCore> core;
  std::shared_ptr<Prepared> prepared;
  Program program;
  Problem problem;
  std::optional<BlockLists> lists;
  std::optional<MaskMap> lists_map;
  std::shared_future<void> compiled;
};

}  // namespace tilewright
