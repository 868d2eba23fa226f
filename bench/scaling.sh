#!/usr/bin/env bash
# Instructions (callgrind: repeatable, whatever else the machine does) of `monet graph gpt3-175b --optimizer adamw` by
# number of layers: a constant last column means linear growth.   bench/scaling.sh [MONET]
set -euo pipefail
monet=${1:-build/release/monet}
printf '%8s %16s %16s\n' layers instructions per_layer
for layers in 12 24 48 96; do
  count=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$monet" graph "gpt3-175b:layers=$layers" --optimizer adamw --quiet 2>&1 >/dev/null |
    sed -n 's/.*Collected : //p')
  printf '%8d %16d %16d\n' "$layers" "$count" "$((count / layers))"
done
