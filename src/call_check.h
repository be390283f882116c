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

/// Checks that options.device_map is of this call and the only one that says what is visited.
void check_device_map(const CallOptions& options, const Program& program, const Problem& problem);
/// Checks that a map can be made for calls of a problem.
void check_map_build(const DeviceMaskMap& map, const Problem& problem);

/// Checks a table of key lengths: i32 [B] on the problem's device, which is none of the host.
void check_kv_lengths(const TensorView& lengths, const Problem& problem);
/// Throws: backward takes none.
[[noreturn]] void refuse_kv_lengths();

/// Checks that a map that the caller brings was made for this very call.
void check_map(const MaskMap& map, bool has_lists, const Program& program, const Problem& problem);

}  // namespace tilewright
