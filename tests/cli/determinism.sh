#!/usr/bin/env bash
# Same seed, same bytes: from run to run, and from the debug to the release build.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
other=$CONCLAVE
[ -x build/dev/conclave ] && other=build/dev/conclave
for name in $("$CONCLAVE" catalogue --json | sed -n 's/^    "name": "\(.*\)",$/\1/p'); do
  for delay in fixed:10 uniform:1-30 exponential:10; do
    run=("sim" "$name" --nodes 4 --entries 3 --faults all --chatter 0.5 --delay "$delay" --seed 7)
    "$CONCLAVE" "${run[@]}" --trace "$work/a.jsonl" >/dev/null || true
    "$CONCLAVE" "${run[@]}" --trace "$work/b.jsonl" >/dev/null || true
    "$other" "${run[@]}" --trace "$work/c.jsonl" >/dev/null || true
    cmp "$work/a.jsonl" "$work/b.jsonl"
    cmp "$work/a.jsonl" "$work/c.jsonl"
    [ "$(wc -l <"$work/a.jsonl")" -gt 20 ]
  done
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
