#!/usr/bin/env bash
# Builds wheels into wheelhouse/ with what they link inside, and checks them:
#   scripts/wheel.sh [PYTHON...]     one for each Python (default: 3.10 and 3.11 where this machine has
#                                    them, and the first of 3.12 or later, whose wheel serves all later ones)
#   scripts/wheel.sh --from-build    of the package that build/ holds already: nothing is compiled
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh build wheel
raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT

# The first Python of one of the minor versions of 3 that are named, able to make environments and with headers.
python_of() {
  local minor candidate
  for minor in "$@"; do
    for candidate in .venv/bin/python "python3.$minor" "${PYENV_ROOT:-$HOME/.pyenv}/versions/3.$minor".*/bin/python3; do
      if "$candidate" - "$minor" 2>/dev/null <<'PY'
import ensurepip, os, sys, sysconfig, venv
headers = os.path.join(sysconfig.get_path("include"), "Python.h")
sys.exit(sys.version_info[:2] != (3, int(sys.argv[1])) or not os.path.exists(headers))
PY
      then
        "$candidate" -c 'import sys; print(sys.executable)'
        return
      fi
    done
  done
  echo "wheel: no usable Python among 3.{$*} here, so its wheel is not built" >&2
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
  mapfile -t pythons < <(python_of 10; python_of 11; python_of 12 13 14 15)
fi
grep -E '^(nanobind|scikit-build-core)==' scripts/packages/python.txt | awk '{ print $1 }' >"$raw/constraints.txt"
# One build folder: what is no part of the Python module is compiled for the first Python alone.
for python in "${pythons[@]}"; do
  rm -f "$raw"/*.whl
  begin=$SECONDS
  PIP_CONSTRAINT="$raw/constraints.txt" "$python" -m pip wheel --quiet --disable-pip-version-check --no-deps \
    --config-settings=build-dir=build-wheel/shared --wheel-dir "$raw" .
  echo "wheel: $(basename "$raw"/*.whl) built in $((SECONDS - begin)) s"
  check "$python" "$raw"/*.whl
done
ls -l wheelhouse/
