#!/usr/bin/env bash
# Long runs: every algorithm, many seeds, all the faults that it allows, several sizes.
#
#   SEEDS=100000 scripts/soak.sh            as long as you like
#   ONLY=raft RAFT_SEEDS=1000000 scripts/soak.sh   one algorithm
#
# Raft's seeds are RAFT_SEEDS in all, over several sizes, both variants, and links that keep the order or do not. In its
# runs a tick may be taken for a millisecond: messages take 10, elections 40 to 240.
set -euo pipefail
seeds=${SEEDS:-10000}
raft_seeds=${RAFT_SEEDS:-100000}
first=${FIRST_SEED:-1}
only=${ONLY:-}
jobs=${JOBS:-$(nproc)}
conclave=${CONCLAVE:-build/release/conclave}

soak() {
  "$conclave" sim "$@" --faults all --first-seed "$first" --jobs "$jobs"
}

field() { sed -n "s/^ *\"$1\": \([0-9]*\),*$/\1/p" <<<"$2"; }

wanted() { [ -z "$only" ] || [ "$only" = "$1" ]; }

soak_raft() {
  local sizes=(3 5 1 2 4 7) share ran=0 ticks=0 begun ended
  share=$(((raft_seeds + 4 * ${#sizes[@]} - 1) / (4 * ${#sizes[@]})))
  begun=$(date +%s%N)
  for variant in canonical no-pre-vote; do
    for nodes in "${sizes[@]}"; do
      # Where links keep the order and entries go together, the news of what is committed has to be prompt.
      for links in "" "--fifo --set batch=64"; do
        local report
        # shellcheck disable=SC2086
        report=$(soak raft --variant "$variant" --nodes "$nodes" --seeds "$share" $links --json) || {
          echo "$report"
          return 1
        }
        ran=$((ran + $(field seeds "$report")))
        ticks=$((ticks + $(field ticks "$report")))
        echo "raft ($variant${links:+, $links}): $share seeds of $nodes servers, all claimed properties hold"
      done
    done
  done
  ended=$(date +%s%N)
  awk -v ran="$ran" -v ticks="$ticks" -v nanoseconds=$((ended - begun)) 'BEGIN {
    seconds = nanoseconds / 1e9
    hours = ticks / 3.6e6
    printf "raft: %d seeds clean, %.1f simulated hours (a tick being 1 ms) in %.0f s: %.1f hours per minute\n",
           ran, hours, seconds, hours * 60 / seconds
  }'
}

if wanted raft; then soak_raft; fi
mutex=$("$conclave" catalogue --family mutex --names)
others=$("$conclave" catalogue --world sim --names | grep -vxF "$mutex" | grep -vx raft)
for name in $mutex; do
  wanted "$name" || continue
  # The basic Maekawa does not claim to be free of deadlock, so its runs may end early; it must stay safe.
  for nodes in 2 3 5 7; do
    soak "$name" --nodes "$nodes" --entries 3 --chatter 0.5 --seeds "$seeds"
  done
done
for name in $others; do
  wanted "$name" || continue
  for nodes in 4 5 7; do
    soak "$name" --nodes "$nodes" --seeds "$seeds"
  done
done
