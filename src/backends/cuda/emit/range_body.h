#pragma once

#include <string>
#include <unordered_map>

#include "backends/cuda/emit/body.h"
#include "backends/cuda/parameter_block.h"

namespace tilewright::cuda {

/// Statements that compute the ranges of a mask's nodes over a band of query rows and a stretch of
/// keys. What depends on b and h only is a single value.
class RangeBody {
 public:
  /// `values` computes single values beside these statements; `band` is where stored ranges of the
  /// rows lie, empty in band() itself.
  RangeBody(const NodePlan& plan, std::vector<PyramidRequest>& pyramids, std::string band)
      : plan_(plan), pyramids_(pyramids), values_(plan, surroundings()), band_(std::move(band)) {}

  std::string range(ir::NodeId id);
  std::string text() const { return values_.text() + text_; }

  /// The C++ type of a node's range.
  static std::string type(const NodePlan& plan, ir::NodeId id);

 private:
  static Surroundings surroundings();
  std::string single(ir::NodeId id);
  std::string leaf(ir::NodeId id);
  std::string row(ir::NodeId id);
  std::string load(ir::NodeId id);
  std::string set(ir::NodeId id) const;
  /// Number of the pyramid along this axis; absent where there are too many.
  std::optional<std::size_t> pyramid(std::uint32_t capture, std::uint32_t axis);
  std::string line(ir::NodeId id, std::size_t axis);
  std::string may_be_dead(ir::NodeId id);
  std::string any(ir::NodeId id) const;

  const NodePlan& plan_;
  std::vector<PyramidRequest>& pyramids_;
  Body values_;
  std::string band_;
  std::string text_;
  std::unordered_map<ir::NodeId, std::string> known_;
};

/// Whether a range depends on the query rows but not on keys, and costs enough to be kept for all
/// tiles of a band.
bool is_kept_in_band(const NodePlan& plan, ir::NodeId id);

}  // namespace tilewright::cuda
