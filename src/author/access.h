#pragma once

#include "tilewright/author.h"
#include "trace/recorder.h"

namespace tilewright::author {

/// The one door between handles and nodes.
struct Access {
  /// The node of a handle. Throws Error{kTrace} for a handle of another trace.
  static ir::NodeId node(const Value& value);
  static Value wrap(ir::NodeId node);
};

/// Applies a function of the text form to handles.
Value call(std::string_view fn, std::initializer_list<Value> operands);

}  // namespace tilewright::author
