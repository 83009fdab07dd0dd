#!/usr/bin/env bash
# Long runs: every algorithm, many seeds, all the faults that it allows, several sizes.
# SEEDS=100000 scripts/soak.sh takes as long as you like.
set -euo pipefail
seeds=${SEEDS:-10000}
first=${FIRST_SEED:-1}
conclave=${CONCLAVE:-build/release/conclave}
mutex=$("$conclave" catalogue --family mutex --names)
others=$("$conclave" catalogue --world sim --names | grep -vxF "$mutex")
for name in $mutex; do
  # The basic Maekawa does not claim to be free of deadlock, so its runs may end early; it must stay safe.
  for nodes in 2 3 5 7; do
    "$conclave" sim "$name" --nodes "$nodes" --entries 3 --faults all --chatter 0.5 \
      --seeds "$seeds" --first-seed "$first" --jobs "$(nproc)"
  done
done
for name in $others; do
  for nodes in 4 5 7; do
    "$conclave" sim "$name" --nodes "$nodes" --faults all --seeds "$seeds" --first-seed "$first" --jobs "$(nproc)"
  done
done
