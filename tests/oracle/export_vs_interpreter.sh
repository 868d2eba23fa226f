#!/usr/bin/env bash
# Exports every case of the numeric export tests with what the interpreter computed, and has onnxruntime compute it too.
#   export_vs_interpreter.sh UNIT_ONNX PYTHON
set -euo pipefail
unit_onnx=$1 python=$2
if ! "$python" -c 'import onnx, onnxruntime' 2>/dev/null; then
  echo "skipped: no onnxruntime (tools/oracles.sh)"
  exit 77
fi
cases=$(mktemp -d)
trap 'rm -rf "$cases"' EXIT
MONET_EXPORT_DIR=$cases "$unit_onnx" --gtest_filter=ExportNumeric.EveryCaseRunsAndExports
"$python" "$(dirname "$0")/export_vs_interpreter.py" "$cases"
