#!/usr/bin/env bash
# Many seeds per algorithm, with all the faults that it allows, keep everything that it claims: 10,000 for the
# algorithms of mutual exclusion, fewer for those whose runs are long.
set -euo pipefail
mutex=$("$CONCLAVE" catalogue --family mutex --names)
others=$("$CONCLAVE" catalogue --world sim --names | grep -vxF "$mutex")
for name in $mutex; do
  "$CONCLAVE" sim "$name" --nodes 4 --entries 2 --think uniform:0-60 --faults all --chatter 0.5 --seeds 10000 --jobs 2
done
for name in $others; do
  "$CONCLAVE" sim "$name" --faults all --seeds 1000 --jobs 2
done
