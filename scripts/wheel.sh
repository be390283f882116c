#!/usr/bin/env bash
# Builds wheels into wheelhouse/ with what they link inside, and checks them:
#   scripts/wheel.sh [PYTHON...]     one for each Python (default: that of .venv, and the first of 3.12 or
#                                    later on this machine, whose wheel serves all later ones)
#   scripts/wheel.sh --from-build    of the package that build/ holds already: nothing is compiled
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh build wheel
raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT

later_python() {
  local candidate
  for candidate in python3.12 python3.13 python3.14 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[2-9].*/bin/python3; do
    if "$candidate" -c 'import sys, venv; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
      "$candidate" -c 'import sys; print(sys.executable)'
      return
    fi
  done
  echo "wheel: no Python of 3.12 or later here, so no stable-ABI wheel is built" >&2
}

check() {
  local python=$1 built=$2 wheel
  rm -rf "$raw/repaired"
  PATH="$PWD/.venv/bin:$PATH" .venv/bin/python -m auditwheel repair --strip --wheel-dir "$raw/repaired" "$built"
  wheel=$(ls "$raw"/repaired/*.whl)
  .venv/bin/python -m auditwheel show "$wheel" | grep -m1 'constrains\|consistent\|manylinux' || true
  if [[ $wheel == *abi3* ]]; then
    .venv/bin/python -m abi3audit --strict "$wheel"
  fi
  .venv/bin/python scripts/check_wheel.py "$python" "$wheel"
  mkdir -p wheelhouse
  mv "$wheel" wheelhouse/
}

if [ "${1:-}" = --from-build ]; then
  check .venv/bin/python "$(.venv/bin/python scripts/pack_wheel.py build "$raw" | tail -1)"
  exit
fi

pythons=("$@")
if [ ${#pythons[@]} -eq 0 ]; then
  mapfile -t pythons < <(echo .venv/bin/python; later_python)
fi
grep -E '^(nanobind|scikit-build-core)==' scripts/packages/python.txt | awk '{ print $1 }' >"$raw/constraints.txt"
for python in "${pythons[@]}"; do
  rm -f "$raw"/*.whl
  PIP_CONSTRAINT="$raw/constraints.txt" "$python" -m pip wheel --quiet --disable-pip-version-check --no-deps \
    --wheel-dir "$raw" .
  check "$python" "$raw"/*.whl
done
