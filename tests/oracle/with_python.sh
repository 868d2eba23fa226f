#!/usr/bin/env bash
# Runs a script with an interpreter that may be missing: with_python.sh PYTHON SCRIPT ARGUMENTS…
set -euo pipefail
if [ ! -x "$1" ]; then
  echo "skipped: no $1 (tools/peers.sh makes it)"
  exit 77
fi
exec "$@"
