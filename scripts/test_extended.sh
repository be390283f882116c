#!/usr/bin/env bash
# The tests that need whole models, in an environment of their own (.venv-extended): scripts/test_extended.sh
# Arguments go to pytest: scripts/test_extended.sh -k gemma2. A package that cannot be had is named, and its
# tests are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${TILEWRIGHT_PRESET:-dev}
scripts/setup.sh build test
cmake --preset "$preset" >/dev/null
cmake --build build --target tilewright_python >/dev/null

python=.venv-extended/bin/python
if [ ! -x "$python" ]; then
  .venv/bin/python -m venv --without-pip .venv-extended
fi
# What the tests of every day need, torch for one, is read from .venv.
.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
  >"$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/everyday.pth"
mapfile -t wanted < <(awk '$1 !~ /^#/ && $2 == "extended" { print $1 }' scripts/packages/python.txt)
for package in $("$python" scripts/missing_python.py "${wanted[@]}"); do
  echo "test_extended: installing $package into .venv-extended"
  .venv/bin/python -m pip --python "$python" install --quiet --disable-pip-version-check --no-deps \
    "$package" || echo "test_extended: $package cannot be had; its tests are skipped" >&2
done

cd tests/python/extended
PYTHONPATH="$OLDPWD/build/python" "$OLDPWD/$python" -m pytest -q -rs "$@"
