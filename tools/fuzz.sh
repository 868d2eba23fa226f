#!/usr/bin/env bash
# Builds the fuzzers (clang) and runs each for some seconds: tools/fuzz.sh [SECONDS]
# What they learn stays in build/fuzz/corpus and is used by the next run. A crash leaves its input in build/fuzz.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-600}

if ! command -v clang++-14 >/dev/null; then
  echo "skipped: fuzz (no clang++-14)"
  exit 0
fi
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target fuzzers

failed=()
for program in build/fuzz/tests/fuzz/*_fuzz; do
  name=$(basename "$program" _fuzz)
  learned=build/fuzz/corpus/$name
  mkdir -p "$learned"
  arguments=(-max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -print_final_stats=1
             -artifact_prefix="build/fuzz/$name-" "$learned")
  [ -d "tests/fuzz/corpus/$name" ] && arguments+=("tests/fuzz/corpus/$name")
  [ -f "tests/fuzz/$name.dict" ] && arguments+=(-dict="tests/fuzz/$name.dict")
  echo "== fuzz: $name for $seconds s"
  if "$program" "${arguments[@]}" >"build/fuzz/$name.log" 2>&1; then
    grep -E 'number_of_executed_units|peak_rss_mb' "build/fuzz/$name.log"
  else
    tail -60 "build/fuzz/$name.log"
    failed+=("$name")
  fi
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "fuzz: failed: ${failed[*]}"
  exit 1
fi
