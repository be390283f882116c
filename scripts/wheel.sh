#!/usr/bin/env bash
# Builds a wheel into wheelhouse/ with what it links inside, and checks it: scripts/wheel.sh
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh build wheel
raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT
.venv/bin/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$raw" .
PATH="$PWD/.venv/bin:$PATH" .venv/bin/python -m auditwheel repair --strip --wheel-dir wheelhouse "$raw"/*.whl
wheel=$(ls -t wheelhouse/*.whl | head -1)
.venv/bin/python -m auditwheel show "$wheel"
if .venv/bin/python -c 'import abi3audit' 2>/dev/null && [[ $wheel == *abi3* ]]; then
  .venv/bin/python -m abi3audit --strict "$wheel"
fi
bytes=$(stat -c %s "$wheel")
printf '%s: %d MB\n' "$wheel" $((bytes / 1000000))
[ "$bytes" -le 60000000 ] || { echo "wheel: more than 60 MB" >&2; exit 1; }
