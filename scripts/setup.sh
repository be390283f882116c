#!/usr/bin/env bash
# Installs what the named groups of scripts/packages/ need: scripts/setup.sh build [test] [lint] [example]
# Says what it installs; the second time there is nothing to do. With NO_INSTALL=1 it installs
# nothing, lists what is missing, and fails if anything is.
set -euo pipefail
cd "$(dirname "$0")/.."

groups=("$@")
[ ${#groups[@]} -gt 0 ] || groups=(build)
os_release=${TILEWRIGHT_OS_RELEASE:-/etc/os-release}

# First column of a list, rows of the wanted groups only.
listed() {
  local file=$1 group
  for group in "${groups[@]}"; do
    awk -v group="$group" '$1 !~ /^#/ && $2 == group { print $1 }' "$file"
  done
}

require_known_system() {
  local name
  name=$(. "$os_release" 2>/dev/null && echo "${ID:-unknown} ${VERSION_ID:-}") || name="unknown"
  case "$name" in
    "debian 12" | "debian 13" | "ubuntu 24.04") return ;;
  esac
  cat >&2 <<TXT
setup: this system is '$name'; package names are known here for Debian 12, Debian 13 and Ubuntu 24.04.
Install what stands for these packages, then build with 'cmake --preset dev && cmake --build build':
  $(listed scripts/packages/debian.txt | paste -sd' ')
TXT
  exit 3
}

missing_debian() {
  local package
  for package in $(listed scripts/packages/debian.txt); do
    dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
      echo "$package"
  done
}

missing_python() {
  local wanted
  wanted=$(listed scripts/packages/python.txt)
  [ -n "$wanted" ] || return 0
  if [ ! -x .venv/bin/python ]; then
    echo "$wanted"
    return
  fi
  # shellcheck disable=SC2086  # one requirement a word
  .venv/bin/python scripts/missing_python.py $wanted
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "setup: neither root nor sudo here; ask an administrator to run: $*" >&2
    exit 4
  fi
}

install_debian() {
  echo "setup: installing Debian packages: $*"
  as_root apt-get -o Acquire::Retries=3 -qq update
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 \
    -qq install --no-install-recommends "$@" >/dev/null
}

install_python() {
  echo "setup: installing Python packages into .venv: $*"
  [ -x .venv/bin/python ] || python3 -m venv .venv
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps "$@"
}

require_known_system
mapfile -t debian < <(missing_debian)
mapfile -t python < <(missing_python)

if [ $((${#debian[@]} + ${#python[@]})) -eq 0 ]; then
  echo "setup: everything is installed (${groups[*]})"
elif [ "${NO_INSTALL:-0}" = 1 ]; then
  [ ${#debian[@]} -eq 0 ] || echo "setup: missing Debian packages: ${debian[*]}"
  [ ${#python[@]} -eq 0 ] || echo "setup: missing Python packages: ${python[*]}"
  echo "setup: NO_INSTALL=1, so nothing was installed" >&2
  exit 2
else
  [ ${#debian[@]} -eq 0 ] || install_debian "${debian[@]}"
  [ ${#python[@]} -eq 0 ] || install_python "${python[@]}"
fi
