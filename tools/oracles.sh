#!/usr/bin/env bash
# Makes build/oracles, a virtual environment with the reference implementations that Debian does not have, if the
# package index can be reached. Where it cannot, the tests that need them are skipped by name, and this still succeeds.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(onnx==1.23.2 onnxruntime==1.31.1)
folder=build/oracles
stamp="$folder/installed"

if [ "$(cat "$stamp" 2>/dev/null)" = "${packages[*]}" ] &&
  "$folder/bin/python" -c 'import onnx, onnxruntime' 2>/dev/null; then
  exit 0
fi
out_of_reach() {
  echo "oracles: $1: the tests that need ${packages[*]} will be skipped" >&2
  exit 0
}
mkdir -p build
# Debian's own interpreter: another one first in PATH may lack what its modules need.
if [ ! -x "$folder/bin/pip" ] && ! /usr/bin/python3 -m venv "$folder" >/dev/null 2>&1; then
  rm -rf "$folder"
  out_of_reach "no virtual environment (python3-venv)"
fi
echo "oracles: installing ${packages[*]} in $folder"
timeout 600 "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 15 \
  "${packages[@]}" || out_of_reach "the package index is out of reach"
echo "${packages[*]}" >"$stamp"
