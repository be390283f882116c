#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/work_items.h"

namespace tilewright::cpu {

/// The kv tiles that an item's steps lie in.
class ItemTiles {
 public:
  explicit ItemTiles(const ForwardCall& call);

  /// Ascending, each once; valid until the next call.
  const std::vector<std::int64_t>& of(const WorkItem& item);

 private:
  void mark(TokenRange keys);
  void mark_spans(const WorkItem& item);

  const ForwardCall& call_;
  std::vector<char> is_marked_;
  std::vector<std::int64_t> tiles_;
};

}  // namespace tilewright::cpu
