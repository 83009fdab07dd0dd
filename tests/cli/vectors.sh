#!/usr/bin/env bash
# Every acceptance vector passes, explorations among them.
set -euo pipefail
for file in tests/vectors/*.json; do
  out=$("$CONCLAVE" accept "$file") || { echo "$out" | grep -v '^passed' >&2; exit 1; }
  summary=$(echo "$out" | tail -1)
  echo "$file: $summary"
  echo "$summary" | grep -q '^[1-9][0-9]* passed, 0 failed'
  [ "$(echo "$out" | grep -c '^skipped')" = 0 ]
done
"$CONCLAVE" accept tests/vectors/mutex.json | tail -1 | grep -q '^42 passed, 0 failed, 0 skipped$'

# A vector that expects something else must fail: the check can fail.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed 's/"max_in_cs": 1/"max_in_cs": 2/' tests/vectors/mutex.json >"$work/wrong.json"
if "$CONCLAVE" accept "$work/wrong.json" --only 'central/fifo-queue' >"$work/out"; then
  echo "a wrong expectation passed" >&2
  exit 1
fi
grep -q 'max_in_cs: expected 2, got 1' "$work/out"
sed 's/"max_in_cs": 1/"unheard_of": 1/' tests/vectors/mutex.json >"$work/unknown.json"
! "$CONCLAVE" accept "$work/unknown.json" --only 'central/fifo-queue' >"$work/out"
grep -q 'nothing here computes it' "$work/out"
