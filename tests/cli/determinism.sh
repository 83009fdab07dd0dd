#!/usr/bin/env bash
# Same seed, same bytes: from run to run, and from one build to another.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The sanitizers' build has other optimisations: where both are there, they must agree.
other=$CONCLAVE
[ -x build/release/conclave ] && other=build/release/conclave
for name in $("$CONCLAVE" catalogue --world sim --names); do
  for delay in fixed:10 uniform:1-10; do
    run=("sim" "$name" --faults all --delay "$delay" --seed 7)
    "$CONCLAVE" "${run[@]}" --trace "$work/a.jsonl" >/dev/null || true
    "$other" "${run[@]}" --trace "$work/b.jsonl" >/dev/null || true
    cmp "$work/a.jsonl" "$work/b.jsonl"
    [ "$(wc -l <"$work/a.jsonl")" -gt 10 ]
  done
done
for name in $("$CONCLAVE" catalogue --family mutex --names); do
  run=("sim" "$name" --nodes 4 --entries 3 --faults all --chatter 0.5 --delay exponential:10 --seed 7)
  "$CONCLAVE" "${run[@]}" --trace "$work/a.jsonl" >/dev/null || true
  "$other" "${run[@]}" --trace "$work/b.jsonl" >/dev/null || true
  cmp "$work/a.jsonl" "$work/b.jsonl"
done
# With faults beyond what the algorithms assume, too.
run=(sim lamport --faults all --beyond-assumptions --seed 3)
"$CONCLAVE" "${run[@]}" --trace "$work/a.jsonl" >/dev/null || true
"$other" "${run[@]}" --trace "$work/c.jsonl" >/dev/null || true
cmp "$work/a.jsonl" "$work/c.jsonl"
# Another seed is another run.
"$CONCLAVE" sim lamport --seed 1 --trace "$work/a.jsonl" >/dev/null
"$CONCLAVE" sim lamport --seed 2 --trace "$work/b.jsonl" >/dev/null
! cmp -s "$work/a.jsonl" "$work/b.jsonl"
echo "same seed, same bytes ($other)"
