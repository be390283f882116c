#!/usr/bin/env bash
# Set-up, build of the program, and the main job: packed document attention on real sentences.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh build
scripts/build.sh "${TILEWRIGHT_PRESET:-dev}" tilewright_cli
