#!/usr/bin/env bash
# Installs the Debian packages that are missing: tools/setup.sh build | test
#   build  what the product needs to be compiled
#   test   that, and what its tests need
# Says nothing and uses no network when all is there. As root it calls apt-get itself, else through sudo.
set -euo pipefail

build_packages=(cmake ninja-build g++ ccache libfmt-dev libprotobuf-dev libonnx-dev libcli11-dev libyaml-cpp-dev zlib1g-dev
                pkg-config coinor-libcbc-dev libsqlite3-dev libjemalloc-dev)
test_packages=(libgtest-dev librapidcheck-dev)
# Tests that need one of these are skipped by name where it cannot be had.
oracle_packages=(python3 python3-numpy python3-torch python3-torchvision python3-venv python3-jsonschema clang-14
                 libclang-rt-14-dev clang-format-14 libopenmpi-dev openmpi-bin)

missing_of() {
  local package
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
  done
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    env DEBIAN_FRONTEND=noninteractive "$@"
  elif command -v sudo >/dev/null; then
    sudo env DEBIAN_FRONTEND=noninteractive "$@"
  else
    echo "setup: neither root nor sudo; as root run: $*" >&2
    return 1
  fi
}

updated=no
install() {
  echo "setup: installing $*"
  if [ $updated = no ]; then
    as_root apt-get update -qq || echo "setup: apt-get update failed; trying with the package lists at hand" >&2
    updated=yes
  fi
  as_root apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

case "${1:-}" in
  build) required=("${build_packages[@]}") optional=() ;;
  test) required=("${build_packages[@]}" "${test_packages[@]}") optional=("${oracle_packages[@]}") ;;
  *) echo "usage: tools/setup.sh build|test" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null; then
  echo "setup: not a Debian system; what these packages hold must be there: ${required[*]} ${optional[*]}" >&2
  exit 0
fi

mapfile -t missing < <(missing_of "${required[@]}")
mapfile -t wanted < <(missing_of "${optional[@]}")
# One transaction when it works; else the required ones alone, then each optional one for itself.
if [ $((${#missing[@]} + ${#wanted[@]})) -eq 0 ] || install "${missing[@]}" "${wanted[@]}"; then
  exit 0
fi
if [ ${#missing[@]} -gt 0 ] && ! install "${missing[@]}"; then
  echo "setup: could not install: ${missing[*]}" >&2
  exit 1
fi
for package in "${wanted[@]}"; do
  install "$package" || echo "setup: no $package: the tests that need it will be skipped" >&2
done
