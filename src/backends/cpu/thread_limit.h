#pragma once

namespace tilewright::cpu {

/// Threads that this process may keep busy: the affinity mask, cut by the container's CPU quota
/// (cgroup v2 and v1), at least 1.
int thread_limit();

}  // namespace tilewright::cpu
