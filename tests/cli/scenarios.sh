#!/usr/bin/env bash
# Every scenario shows what it says, for people, for programs and as pictures.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$1" >&2; exit 1; }
has() { grep -qF -- "$2" "$1" || { echo "no '$2' in:" >&2; cat "$1" >&2; exit 1; }; }

"$CONCLAVE" scenario --json >"$work/list.json"
mapfile -t names < <(sed -n 's/^ *"name": "\(.*\)",$/\1/p' "$work/list.json")
[ "${#names[@]}" -ge 18 ] || fail "only ${#names[@]} scenarios"
"$CONCLAVE" scenario >"$work/list"
"$CONCLAVE" scenario --markdown | cmp - docs/scenarios.md

for name in "${names[@]}"; do
  grep -q "^$name " "$work/list" || fail "$name is not in the table"
  status=0
  "$CONCLAVE" scenario "$name" --svg "$work/$name.svg" --trace "$work/$name.jsonl" >"$work/out" || status=$?
  [ "$status" = 0 ] || { cat "$work/out" >&2; fail "$name: status $status"; }
  has "$work/out" "Run 1 "
  has "$work/out" "Answer"
  ! grep -q "NOT SEEN" "$work/out" || fail "$name: status 0, but something was not seen"
  "$CONCLAVE" scenario "$name" --json >"$work/out.json"
  has "$work/out.json" '"holds": true'
  # As many pictures and traces as runs; the traces can be read again, and show the same run.
  runs=$(grep -c '^Run [0-9]' "$work/out")
  [ "$(find "$work" -name "$name*.svg" | wc -l)" = "$runs" ] || fail "$name: not one picture for each run"
  for file in "$work/$name"*.svg; do
    head -c 4 "$file" | grep -q '<svg' && tail -c 8 "$file" | grep -q '</svg>' || fail "$file is no picture"
  done
  for file in "$work/$name"*.jsonl; do
    status=0
    "$CONCLAVE" trace "$file" >"$work/read" || status=$?
    [ "$status" -le 1 ] || fail "$file cannot be read again"
  done
  if command -v python3 >/dev/null; then
    python3 - "$work/out.json" "$work/$name"*.svg <<'P' || fail "$name: not well-formed"
import json, sys, xml.dom.minidom
report = json.load(open(sys.argv[1]))
assert report["observed"] and all(o["seen"] for o in report["observed"]) and report["runs"]
for picture in sys.argv[2:]:
    xml.dom.minidom.parse(picture)
P
  fi
  rm -f "$work/$name"*
done

# What the answers rest on.
"$CONCLAVE" scenario repeated-entry --brief >"$work/out"
has "$work/out" "messages: 80"
has "$work/out" "messages: 8"
"$CONCLAVE" scenario bully-take-over --run 2 --svg "$work/one.svg" >"$work/out"
[ -f "$work/one.svg" ] || fail "--run 2 writes one picture, under the name it is given"
has "$work/out" "messages: 2"
"$CONCLAVE" scenario central-server-order >"$work/out"
has "$work/out" "EM3 violated: p2 entered before p1"

# Wrong usage says what would be right.
wrong() {
  local words=$1 status=0
  shift
  "$CONCLAVE" scenario "$@" >"$work/out" 2>&1 || status=$?
  [ "$status" = 2 ] || fail "conclave scenario $*: status $status, wanted 2"
  has "$work/out" "$words"
}
wrong "conclave scenario lists them" no-such-thing
wrong "did you mean" bully
wrong "has 1 run" token-ring-order --run 2
wrong "say which scenario" --svg "$work/x.svg"
wrong "no/such" async-consensus-impossibility --svg "$work/no/such/x.svg"
echo "${#names[@]} scenarios show what they say"
