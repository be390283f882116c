#pragma once

#include <cstdint>

#include "tilewright/block_lists.h"

namespace tilewright::analyse {

/// What FlexAttention's lists say of themselves without their contents.
struct ListShapes {
  std::int64_t batches = 1;
  std::int64_t heads = 1;
  std::int64_t q_tiles = 0;
  std::int64_t kv_tiles = 0;
};

/// Checks lengths, block sizes, shapes and dtypes, and that every tensor lies on `device`; reads no
/// element. Throws Error{kInvalidArgument}.
ListShapes list_shapes(const BlockLists& lists, Device device);

/// Throws Error{kInvalidArgument} about the part of the lists that `where` names.
[[noreturn]] void raise_lists(const std::string& where, std::string expected, std::string got);

}  // namespace tilewright::analyse
