#!/usr/bin/env bash
# compute-sanitizer over small calls of the engine: scripts/sanitize_gpu.sh TEST_DEVICE [TOOL...]
# Kernels are compiled once beforehand, outside the tools.
set -euo pipefail

test_device=$1
shift
tools=("$@")
[ ${#tools[@]} -gt 0 ] || tools=(memcheck racecheck initcheck synccheck)
sanitizer=${SANITIZER:-$(command -v compute-sanitizer || true)}
[ -n "$sanitizer" ] || [ ! -x /usr/local/cuda/bin/compute-sanitizer ] || sanitizer=/usr/local/cuda/bin/compute-sanitizer
if [ -z "$sanitizer" ] || [ "$sanitizer" = none ]; then
  echo "sanitize_gpu: compute-sanitizer is not used here"
  exit 0
fi
if ! command -v nvidia-smi >/dev/null || ! nvidia-smi -L >/dev/null 2>&1; then
  echo "sanitize_gpu: no GPU here"
  exit 0
fi

cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
export TILEWRIGHT_CACHE_DIR=$cache
small='--gtest_filter=*Small*'
"$test_device" --gtest_brief=1 "$small"
for tool in "${tools[@]}"; do
  echo "== $tool"
  "$sanitizer" --tool "$tool" --error-exitcode 9 --print-limit 3 "$test_device" --gtest_brief=1 "$small"
done
