#!/usr/bin/env bash
# Every algorithm is in the catalogue, under the world it runs in, and runs as it comes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
simulated="central-server central-token token-ring lamport ricart-agrawala carvalho-roucairol
  ricart-agrawala-just-released maekawa maekawa-deadlock-free bakery-messages
  dijkstra bakery
  all-to-all chang-roberts ring-list bully bully-send-to-all bully-delayed bully-polite invitation scatternet
  proof-of-work
  sync-flooding sync-crash-tolerant byzantine-signed byzantine-oral paxos multi-paxos raft
  cristian berkeley global-snapshot
  superpeer-dominating-set superpeer-distance-domination superpeer-p-center"
tools="clock-compensation discovery scalar-clock vector-clock consistent-cut checkpoints"

"$CONCLAVE" catalogue --json >"$work/all"
shown="two-generals async-consensus-impossibility"
expected=$(echo "$simulated $tools $shown" | wc -w)
[ "$(grep -c '^    "name":' "$work/all")" = "$expected" ] || { echo "not $expected rows" >&2; exit 1; }
"$CONCLAVE" catalogue >"$work/text"
grep -qF "$expected algorithms" "$work/text"
for name in $simulated; do
  grep -qF "\"name\": \"$name\"" "$work/all" || { echo "no row $name" >&2; exit 1; }
  if ! "$CONCLAVE" sim "$name" >"$work/text" || ! "$CONCLAVE" sim "$name" --json >"$work/json"; then
    cat "$work/text" >&2
    echo "$name does not run as it comes" >&2
    exit 1
  fi
  grep -qF '"properties": {' "$work/json"
  grep -qF '"status": "holds"' "$work/json" || { echo "$name: nothing judged" >&2; exit 1; }
done
for name in $tools; do
  grep -qF "\"name\": \"$name\"" "$work/all" || { echo "no row $name" >&2; exit 1; }
  status=0
  "$CONCLAVE" sim "$name" >"$work/text" 2>&1 || status=$?
  [ "$status" = 2 ]
  grep -qF "is a tool" "$work/text"
done

for name in $shown; do
  grep -qF "\"name\": \"$name\"" "$work/all" || { echo "no row $name" >&2; exit 1; }
  "$CONCLAVE" scenario "$name" >"$work/text"
done

# What can be explored is, within its standard configuration; the long ones have a target of their own.
explored="central-server central-token token-ring lamport ricart-agrawala carvalho-roucairol
  ricart-agrawala-just-released maekawa maekawa-deadlock-free bakery-messages dijkstra bakery
  all-to-all chang-roberts ring-list bully bully-send-to-all bully-delayed bully-polite invitation
  sync-flooding sync-crash-tolerant byzantine-signed paxos multi-paxos raft global-snapshot"
for name in $explored; do
  "$CONCLAVE" catalogue --world check --names >"$work/text"
  grep -qxF "$name" "$work/text" || { echo "$name cannot be explored" >&2; exit 1; }
done
"$CONCLAVE" check --all >"$work/text" || { cat "$work/text" >&2; exit 1; }

# Every family can be compared, and no figure differs from its claim.
for family in election consensus log timesync registers overlay causality; do
  "$CONCLAVE" compare "$family" --nodes 5 >"$work/text" || { cat "$work/text" >&2; exit 1; }
  "$CONCLAVE" compare "$family" --nodes 4 --json >"$work/json"
  grep -qF '"differs": false' "$work/json"
done
