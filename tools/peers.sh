#!/usr/bin/env bash
# Makes build/peers, build/peers_accelforge, build/peers_pymoo and build/peers_highs, virtual environments with the tools
# that monet is compared with, if the package index can be reached. Where it cannot, the comparisons that need them are
# skipped by name, and this still succeeds. One environment each, for they need other versions of Python and of their own parts.
set -euo pipefail
cd "$(dirname "$0")/.."

# 3.8.5 is the version of the golden data; later ones load and unload differently. It imports six without asking for it.
zigzag=(zigzag-dse==3.8.5 six==1.17.0)
accelforge=(accelforge==1.0.467)
pymoo=(pymoo==0.6.2)
highs=(highspy==1.15.1)

out_of_reach() {
  echo "peers: $1: comparisons with $2 will be skipped" >&2
}

# An interpreter of at least the given minor version of Python 3; Debian's own if that will do.
interpreter() {
  local candidate minor managed=()
  if command -v pyenv >/dev/null; then
    managed=("$(pyenv root)"/versions/3.*/bin/python3)
  fi
  for candidate in /usr/bin/python3 python3.14 python3.13 python3.12 python3.11 python3 "${managed[@]}"; do
    minor=$("$candidate" -c 'import sys, venv; print(sys.version_info[1])' 2>/dev/null) || continue
    if [ "$minor" -ge "$1" ]; then
      echo "$candidate"
      return
    fi
  done
}

# folder, least minor version of Python 3, module to import, packages…
install() {
  local folder=$1 least=$2 module=$3 python
  shift 3
  if [ "$(cat "$folder/installed" 2>/dev/null)" = "$*" ] && "$folder/bin/python" -c "import $module" 2>/dev/null; then
    return
  fi
  python=$(interpreter "$least")
  if [ -z "$python" ]; then
    out_of_reach "no Python 3.$least" "$*"
    return
  fi
  mkdir -p build
  if [ ! -x "$folder/bin/pip" ] && ! "$python" -m venv "$folder" >/dev/null 2>&1; then
    rm -rf "$folder"
    out_of_reach "no virtual environment (python3-venv)" "$*"
    return
  fi
  echo "peers: installing $* in $folder"
  if timeout 900 "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 15 \
    "$@"; then
    echo "$*" >"$folder/installed"
  else
    out_of_reach "the package index is out of reach" "$*"
  fi
}

install build/peers 11 zigzag "${zigzag[@]}"
install build/peers_accelforge 12 accelforge "${accelforge[@]}"
install build/peers_pymoo 11 pymoo "${pymoo[@]}"
install build/peers_highs 11 highspy "${highs[@]}"
