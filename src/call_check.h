#pragma once

#include "tilewright/engine.h"
#include "tilewright/mask_map.h"

namespace tilewright {

/// Checks what problem_from cannot see: captured tensors are bound and on the problem's device,
/// outputs have the right shape and dtype, layouts are served. Throws Error naming the tensor.
void check_call(const Program& program, const Problem& problem, const ForwardOutputs& outputs);

/// Checks block lists against the problem: exact lengths, and batch and heads 1 or equal to the
/// query's.
void check_lists(const BlockLists& lists, const Problem& problem);

/// Checks what a call, forward or backward, brings beside its tensors: `lists`, which are the
/// call's own or those that it was prepared with, and maps, of which one at most says what is
/// visited, and key lengths.
void check_options(const CallOptions& options, const BlockLists* lists, const Program& program,
                   const Problem& problem);

/// Checks that a map can be made for calls of a problem.
void check_map_build(const DeviceMaskMap& map, const Problem& problem);

}  // namespace tilewright
