#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/forward.h"
#include "support/targets.h"
#include "tilewright/error.h"

namespace tilewright::cases {

/// One call on one target, every output asked for.
Results run_on(const Target& target, const Program& program, const ForwardInputs& inputs,
               const CallOptions& options = {});

/// The interpreter and the micro-kernels that this machine has: runs on each, compares each with
/// the fp64 meaning, returns the results of the widest micro-kernel.
Results expect_meaning(const Program& program, const ForwardInputs& inputs,
                       const CallOptions& options = {});

/// The same on the widest micro-kernel alone: for calls too large to repeat.
Results expect_meaning_once(const Program& program, const ForwardInputs& inputs);

/// The widest CPU micro-kernel here.
const Target& fastest_target();

/// Runs on every target and expects an Error with this code whose text holds every word.
void expect_error(const Program& program, const ForwardInputs& inputs, ErrorCode code,
                  std::initializer_list<std::string_view> words, const CallOptions& options = {});

/// out, lse and max_scores agree bit for bit.
void expect_same_bits(const Results& a, const Results& b);

/// Lengths that are no multiple of 32 (C019), eight query heads on four key heads of 64.
std::vector<Extents> ragged_extents();

/// bool [Q, KV], about half of it true; row 5 and the last one see nothing.
Tensor half_visible(const Extents& extents);

inline Program causal() {
  return trace([](Index, Index, Index q, Index kv) { return q >= kv; });
}

}  // namespace tilewright::cases
