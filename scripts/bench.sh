#!/usr/bin/env bash
# Builds and runs the benchmarks: scripts/bench.sh [name] [arguments of Google Benchmark...]
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh build test
scripts/build.sh release bench
name=${1:-}
[ $# -eq 0 ] || shift
for program in build-release/bench/bench_${name:-*}; do
  [ -x "$program" ] || { echo "bench: no benchmark named '$name'" >&2; exit 2; }
  echo "== $program"
  "$program" "$@"
done
