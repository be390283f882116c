#!/usr/bin/env bash
# The tests that need a GPU: scripts/test_gpu.sh [gtest arguments]. Where there is none, each says so
# and is skipped. TILEWRIGHT_CASES=8 runs every eighth case of the problem table. Where compute-sanitizer
# is installed its four tools run small calls of the engine afterwards (SANITIZER=none leaves them out).
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${TILEWRIGHT_PRESET:-dev}
scripts/setup.sh build test gpu
cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset" --target test_device test_backends_cuda
build=build
[ "$preset" = dev ] || [ "$preset" = ci ] || build="build-$preset"
"$build/tests/test_backends_cuda"
"$build/tests/test_device" "$@"
scripts/sanitize_gpu.sh "$build/tests/test_device"
