#!/usr/bin/env bash
# Configures and builds: scripts/build.sh <preset> [target...]
# As many jobs as there are cores, and no more than one for each 2 GiB of free memory.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=$1
shift
free_gib=$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
jobs=$(nproc)
[ "$jobs" -le $((free_gib / 2)) ] || jobs=$((free_gib / 2))
[ "$jobs" -ge 1 ] || jobs=1

cmake --preset "$preset" --log-level=WARNING
targets=()
[ $# -eq 0 ] || targets=(--target "$@")
cmake --build --preset "$preset" --parallel "$jobs" "${targets[@]}"
