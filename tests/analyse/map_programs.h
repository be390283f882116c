#pragma once

#include <cstdint>

#include "tilewright/author.h"
#include "tilewright/mask_map.h"
#include "tilewright/program.h"

namespace tilewright {

inline MaskMapOptions square(std::int64_t length, std::int64_t q_block = 128) {
  return {.q_len = length, .kv_len = length, .q_block = q_block};
}

inline Program causal() {
  return trace([](Index, Index, Index q, Index kv) { return q >= kv; });
}

inline Program windowed(std::int64_t keys) {
  return trace([=](Index, Index, Index q, Index kv) { return q >= kv && q - kv < keys; });
}

}  // namespace tilewright
