#!/usr/bin/env bash
# What the verbs print and write is what their help says.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
has() { grep -qF -- "$2" "$1" || { echo "no '$2' in:" >&2; cat "$1" >&2; exit 1; }; }

# The catalogue, for people and for programs.
"$CONCLAVE" catalogue --json >"$work/out"
has "$work/out" '"links": "reliable_fifo"'
"$CONCLAVE" catalogue maekawa >"$work/out"
has "$work/out" "--variant no-self-vote"

"$CONCLAVE" catalogue --markdown | cmp - docs/protocols.md

# A report, with the costs that the literature claims.
"$CONCLAVE" sim ricart-agrawala --nodes 6 --entries 4 --json >"$work/out"
has "$work/out" '"messages_per_entry": 10.0'
"$CONCLAVE" sim lamport --nodes 4 --entries 2 --think 500 --json >"$work/out"
has "$work/out" '"messages_per_entry": 9.0'
"$CONCLAVE" sim central-server --nodes 1 >"$work/out"
has "$work/out" "3.00 per entry"
"$CONCLAVE" sim ricart-agrawala --nodes 1 >"$work/out"
has "$work/out" "0.00 per entry"

# A diagram in the terminal and as a picture; a trace that can be read again.
"$CONCLAVE" sim lamport --nodes 3 --entries 1 --diagram --svg "$work/run.svg" --trace "$work/run.jsonl" >"$work/out"
has "$work/out" "ENTERS"
has "$work/run.svg" "</svg>"
"$CONCLAVE" trace "$work/run.jsonl" --diagram --svg "$work/again.svg" >"$work/out"
has "$work/out" "EM3    holds"
cmp "$work/run.svg" "$work/again.svg"
"$CONCLAVE" trace "$work/run.jsonl" --json >"$work/out"
has "$work/out" '"EM1": "holds"'

# A figure of a paper, next to what the paper says; as a picture and for programs, whatever the number of threads.
"$CONCLAVE" sim raft --figure elections --trials 30 --jobs 1 --plot "$work/figure.svg" >"$work/out"
has "$work/out" "USENIX ATC, 2014, figure 16"
has "$work/out" "150-155 ms"
has "$work/out" "median 287 (×"
has "$work/out" "median > 10,000 (> ×"
has "$work/out" "mean 35 (×"
has "$work/figure.svg" ">time without a leader (ms)</text>"
has "$work/figure.svg" ">150-300 ms</text>"
"$CONCLAVE" sim raft --figure elections --trials 30 --jobs 3 --plot "$work/again.svg" >"$work/again"
cmp "$work/out" "$work/again"
cmp "$work/figure.svg" "$work/again.svg"
"$CONCLAVE" sim raft --figure elections --trials 30 --seed 2 >"$work/again"
! cmp -s "$work/out" "$work/again"
"$CONCLAVE" sim raft --figure elections --trials 30 --set stale=0 --json >"$work/out"
python3 - "$work/out" <<'P'
import json, sys
figure = json.load(open(sys.argv[1]))
assert figure["parameters"] == {"request": 2500, "answer": 12500, "servers": 5, "stale": 0}, figure["parameters"]
lines = {line["name"]: line for panel in figure["panels"] for line in panel["lines"]}
assert len(lines) == 10 and lines["150-150 ms"]["trials"] == 3, list(lines)
assert lines["150-150 ms"]["median_ms"] == {"measured": 30000, "is_least": True, "published": 10000,
                                            "published_is_least": True, "ratio": 3}, lines["150-150 ms"]
assert lines["150-155 ms"]["median_ms"]["published"] == 287
assert abs(lines["150-175 ms"]["foretold"]["measured"] - 0.9477) < 1e-9
for line in lines.values():
    shares = [y for x, y in line["curve"]]
    assert shares == sorted(shares) and shares[0] == 0, line["name"]
P

# Node and link faults from a script; a crash that the algorithm does not survive is said so.
cat >"$work/script.json" <<'S'
{"conclave-script": 1, "actions": [
  {"do": "wish", "at": 0, "node": 1, "hold": 10},
  {"do": "crash", "at": 5, "node": 2, "forever": true},
  {"do": "wish", "at": 30, "node": 3, "hold": 10}]}
S
status=0
"$CONCLAVE" sim ricart-agrawala --nodes 3 --script "$work/script.json" --beyond-assumptions >"$work/out" || status=$?
[ "$status" = 1 ]
has "$work/out" "Beyond assumptions."
has "$work/out" "EM2    violated"

# A failing seed names the command that replays it, and that command fails the same way.
status=0
"$CONCLAVE" sim maekawa --variant no-self-vote --nodes 3 --seeds 1000 --save-script "$work/shrunk.json" >"$work/out" || status=$?
[ "$status" = 1 ]
has "$work/out" "EM1 is violated"
replay=$(sed -n 's/^  replay: conclave \(.*--seed.*\)$/\1/p' "$work/out" | head -1)
status=0
"$CONCLAVE" $replay >"$work/again" || status=$?
[ "$status" = 1 ]
has "$work/again" "EM1    violated"
status=0
"$CONCLAVE" $(sed -n 's/^  replay: conclave \(.*--script.*\)$/\1/p' "$work/out") >"$work/again" || status=$?
[ "$status" = 1 ]
has "$work/again" "EM1    violated"
# Two requests are all it takes.
[ "$(grep -c '"do":"wish"' "$work/shrunk.json")" = 2 ]

# FIFO matters to Lamport's algorithm.
status=0
"$CONCLAVE" sim lamport --nodes 2 --unordered --beyond-assumptions --delay uniform:1-60 --seeds 1000 >"$work/out" || status=$?
[ "$status" = 1 ]
has "$work/out" "lamport: seed"

# The comparison: as claimed, and Maekawa's deadlock shown.
"$CONCLAVE" compare --nodes 7 >"$work/out"
has "$work/out" "maekawa: high load: deadlock"
"$CONCLAVE" compare --nodes 3,7 --load low --json >"$work/out"
[ "$(grep -c '"protocol":' "$work/out")" = 20 ]
[ "$(grep -c '"differs": true' "$work/out")" = 0 ]

# Histories: one that is linearizable, one that is not, and one of which nobody knows within the bounds.
cat >"$work/good.jsonl" <<'END'
{"process":1,"op":"put","key":"a","value":"1","begin":0,"end":5}
{"process":2,"op":"put","key":"a","value":"2","begin":1,"end":6}
{"process":3,"op":"get","key":"a","begin":7,"end":8,"found":"1"}
END
"$CONCLAVE" history "$work/good.jsonl" >"$work/out"
has "$work/out" "3 operations on 1 keys, 0 without an outcome: linearizable"
sed 's/"begin":1,"end":6/"begin":6,"end":6/' "$work/good.jsonl" >"$work/bad.jsonl"
status=0
"$CONCLAVE" history - <"$work/bad.jsonl" >"$work/out" || status=$?
[ "$status" = 1 ]
has "$work/out" "<- has no place"
status=0
"$CONCLAVE" history --json "$work/bad.jsonl" >"$work/out" || status=$?
[ "$status" = 1 ]
has "$work/out" '"verdict":"not linearizable"'
status=0
"$CONCLAVE" history --steps 2 "$work/good.jsonl" >"$work/out" || status=$?
[ "$status" = 1 ]
has "$work/out" "gave up"

# Help everywhere, with an example.
for verb in "" catalogue sim compare accept trace history; do
  "$CONCLAVE" $verb --help >"$work/out"
  has "$work/out" "xample"
done
# No colour when nobody looks.
! grep -q $'\033' "$work/out"
