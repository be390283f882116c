#pragma once

#include <functional>
#include <vector>

#include "trace/recorder.h"

namespace tilewright::tracing {

/// Runs a mod once per path and joins the results by select. `run` calls the user's function and
/// returns its result node.
class Tracer {
 public:
  Tracer(Recorder& recorder, char mod, std::function<ir::NodeId()> run);

  /// The joined result. Throws Error{kTrace} past kMaxPaths paths, and where running a path twice
  /// differs (a side effect).
  ir::NodeId trace();

 private:
  ir::NodeId explore(const std::vector<bool>& forced);
  ir::NodeId run_path(const std::vector<bool>& forced);
  void require_same(ir::NodeId result) const;

  Recorder& recorder_;
  char mod_;
  std::function<ir::NodeId()> run_;
  std::size_t paths_ = 0;
  /// What the first run did; the second must do the same.
  ir::NodeId first_result_ = ir::kNoNode;
  std::vector<ir::NodeId> first_conditions_;
};

}  // namespace tilewright::tracing
