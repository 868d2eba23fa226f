#!/usr/bin/env bash
# Has ZigZag make random cases (chips, layers, gradients, orderings, searches) and monet validate them.
#   zigzag_vs_validate.sh MONET PYTHON [SEED]
set -euo pipefail
monet=$1 python=$2 seed=${3:-5}
if ! "$python" -c 'import zigzag' 2>/dev/null; then
  echo "skipped: no ZigZag (tools/peers.sh)"
  exit 77
fi
here=$(cd "$(dirname "$0")" && pwd)
cases=$(mktemp -d)
trap 'rm -rf "$cases"' EXIT
"$python" "$here/zigzag_cases.py" generate --out "$cases" --seed "$seed" --fixed 300 --searched 20
# A padding wider than what there is to pad leaves ZigZag with negative sizes; monet refuses it.
"$python" - "$cases" <<'PYTHON'
import json, re, sys
from pathlib import Path

def is_sound(case):
    layer = case["inputs"]["layer"]
    sizes = dict(zip(layer["loop_dims"], layer["loop_sizes"]))
    for relation, padding in zip(layer["dimension_relations"], layer.get("padding") or []):
        a, x, b, y = re.fullmatch(r"\w+=(\d+)\*(\w+)\+(\d+)\*(\w+)", relation.replace(" ", "")).groups()
        span = int(a) * (sizes[x.upper()] - 1) + int(b) * (sizes[y.upper()] - 1) + 1
        if sum(padding) >= min(span, sizes[x.upper()] * sizes[y.upper()]):
            return False
    return True

for name in ("fixed", "searched"):
    path = Path(sys.argv[1], name + ".json")
    document = json.loads(path.read_text())
    document["cases"] = [case for case in document["cases"] if is_sound(case)]
    path.write_text(json.dumps(document))
PYTHON
"$monet" validate zigzag --cases "$cases/fixed.json" "$cases/searched.json" --accelerators "$cases/accelerators.json"
