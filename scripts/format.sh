#!/usr/bin/env bash
# Formats every C, C++ and CUDA file in place; with --check only says what is not formatted.
set -euo pipefail
cd "$(dirname "$0")/.."

mode=(-i)
[ "${1:-}" != --check ] || mode=(--dry-run -Werror)
scripts/setup.sh lint
git ls-files -z -- '*.c' '*.cpp' '*.h' '*.cuh' '*.cu' ':!tests/house_rules/fixtures' |
  xargs -0 -r clang-format-19 "${mode[@]}"
