#!/usr/bin/env bash
# Builds with sanitizers and runs what they should see: scripts/sanitize.sh [asan|tsan]... (default: both; asan has UBSan too)
# The fuzz subset, hostile input, threads and fork, tensor files, the caches, the C ABI. SANITIZE_TESTS is the ctest
# pattern, SANITIZE_FUZZ how many random calls run on top. These builds have no LLVM: what it generates is not
# instrumented (guard pages and poisoned memory in the tests see what such code reads and writes), and its place is
# taken by the tile interpreter, which is.
set -uo pipefail
cd "$(dirname "$0")/.."

rooms='fuzz engine io ir trace cache c_abi analyse backends_cpu kernels_cpu jit gradient'
tests=${SANITIZE_TESTS:-"^(${rooms// /|}|thread_pool)/|^cli/Hostile"}
fuzz=${SANITIZE_FUZZ:-200}
[ $# -gt 0 ] || set -- asan tsan

# A size that no machine has must reach the program as std::bad_alloc, as it does without a sanitizer.
export ASAN_OPTIONS=allocator_may_return_null=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1
# The tests fork while threads of the pool exist.
export TSAN_OPTIONS=allocator_may_return_null=1:second_deadlock_stack=1:die_after_fork=0
export TILEWRIGHT_CACHE_DIR=none

scripts/setup.sh build test || exit 1
failed=()
for preset in "$@"; do
  echo "== $preset"
  scripts/build.sh "$preset" tilewright_cli test_cli $(printf 'test_%s ' $rooms) test_thread_pool &&
    ctest --preset "$preset" --parallel "$(nproc)" -R "$tests" -E GradientCases &&
    "build-$preset/tests/test_fuzz" --first 5000 --count "$fuzz" || failed+=("$preset")
done
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}"; exit 1; }
echo "clean: $*"
