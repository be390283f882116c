#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "tilewright/tensor.h"

namespace tilewright::tracing {

/// Paths that one mod may have.
inline constexpr std::size_t kMaxPaths = 64;

/// What handles record into while a mod runs: one graph for all mods of a program, and the path
/// being run.
class Recorder {
 public:
  Recorder();

  /// The recorder of this thread. Throws Error{kTrace} where no mod is being traced.
  static Recorder& current();
  static bool active() noexcept;

  /// Identifies this recorder; a handle of another one is stale.
  std::uint32_t id() const noexcept { return id_; }
  ir::Graph& graph() noexcept { return graph_; }

  /// Starts running a mod down one path. `mod` separates the literals of score_mod and mask_mod.
  void begin_path(char mod, std::vector<bool> forced);
  /// The branch taken at `condition`: forced, already known on this path, or true for a new one.
  bool decide(ir::NodeId condition);
  /// The decisions of this path and their conditions, in order.
  const std::vector<bool>& decisions() const noexcept { return decisions_; }
  const std::vector<ir::NodeId>& conditions() const noexcept { return conditions_; }
  /// The condition under which the current point of the path is reached.
  ir::NodeId guard();

  /// A number written in the mod. Each occurrence has its own slot; replays of the same path prefix
  /// find it again.
  ir::NodeId number(double value);
  ir::NodeId number(std::int64_t value);
  /// A number with a name: one slot however often it is used. Throws Error if the name has another
  /// value or type.
  ir::NodeId named_number(const std::string& name, ir::Type type, ir::NumberValue value);
  /// The slot of a captured tensor. Throws Error if the name stands for another tensor.
  std::uint32_t capture(const std::string& name, const TensorView& view);

  class Scope;

 private:
  std::string unused_capture_name() const;
  ir::NodeId occurrence(ir::Type type, ir::NumberValue value);

  std::uint32_t id_;
  ir::Graph graph_;
  std::string prefix_;
  std::size_t ordinal_ = 0;
  std::size_t decide_calls_ = 0;
  std::vector<bool> forced_;
  std::vector<bool> decisions_;
  std::vector<ir::NodeId> conditions_;
  std::map<std::pair<std::string, std::size_t>, ir::NodeId> occurrences_;
  std::map<std::string, std::pair<ir::NodeId, ir::NumberValue>> named_numbers_;
};

/// Makes a recorder current on this thread; nests.
class Recorder::Scope {
 public:
  explicit Scope(Recorder& recorder);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  Recorder* previous_;
};

}  // namespace tilewright::tracing
