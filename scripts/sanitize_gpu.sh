#!/usr/bin/env bash
# compute-sanitizer over small calls of the engine: scripts/sanitize_gpu.sh TEST_DEVICE [TOOL...]
# Kernels are compiled once beforehand, outside the tools, from a copy in which one lane reads a tile's
# note and hands it to the others: racecheck credits an arrival to the arriving thread alone, so it
# takes the other lanes' reads for races (kernels/cuda/attention/hopper_forward.cuh, Notes).
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
kernels=$cache/kernels
cp -r "$(dirname "$0")/../kernels/cuda" "$kernels"
sed -i '1i #define TILEWRIGHT_NOTES_BY_ONE_LANE 1' "$kernels/attention/forward_consume.cuh"
export TILEWRIGHT_CACHE_DIR=$cache/binaries TILEWRIGHT_KERNEL_DIR=$kernels
small='--gtest_filter=*Small*'
"$test_device" --gtest_brief=1 "$small"
for tool in "${tools[@]}"; do
  echo "== $tool"
  "$sanitizer" --tool "$tool" --error-exitcode 9 --print-limit 3 "$test_device" --gtest_brief=1 "$small"
done
