#!/usr/bin/env bash
# 10,000 seeds per algorithm, with all the faults that it allows, keep everything that it claims.
set -euo pipefail
for name in $("$CONCLAVE" catalogue --json | sed -n 's/^    "name": "\(.*\)",$/\1/p'); do
  "$CONCLAVE" sim "$name" --nodes 4 --entries 2 --think uniform:0-60 --faults all --chatter 0.5 --seeds 10000 --jobs 2
done
