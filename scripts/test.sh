#!/usr/bin/env bash
# Set-up, build, every test. Arguments go to ctest: scripts/test.sh -R ir/
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${TILEWRIGHT_PRESET:-dev}
scripts/setup.sh build test
scripts/build.sh "$preset"
ctest --preset "$preset" --parallel "$(nproc)" "$@"
