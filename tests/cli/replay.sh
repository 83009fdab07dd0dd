#!/usr/bin/env bash
# A trace given as a script is the same run again: same steps in the same order, with the same sends, events,
# states and clocks. A trace that was tampered with is refused with the number of the step.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$1" >&2; exit 1; }

# Records one run and replays it; what it was recorded with comes after the name.
replay() {
  local name=$1
  shift
  "$CONCLAVE" sim "$name" "$@" --trace "$work/a.jsonl" >"$work/recorded" ||
    [ $? -eq 1 ] || fail "$name $*: not recorded"
  local set=() flag
  while [ $# -gt 0 ]; do
    flag=$1
    shift
    if [ "$flag" = --set ]; then set+=(--set "$1"); fi
  done
  "$CONCLAVE" sim "$name" --script "$work/a.jsonl" "${set[@]}" --trace "$work/b.jsonl" >"$work/replayed" ||
    [ $? -eq 1 ] || fail "$name $*: not replayed"
  cmp "$work/a.jsonl" "$work/b.jsonl"
  [ "$(wc -l <"$work/a.jsonl")" -gt 10 ] || fail "$name: hardly a run"
  # And judged alike.
  cmp <(grep -E '(holds|violated|not claimed)' "$work/recorded") <(grep -E '(holds|violated|not claimed)' "$work/replayed")
}
shows() { grep -q "\"kind\":\"$1\"" "$work/a.jsonl" || fail "the recorded run has no step of kind $1"; }

replay ricart-agrawala --nodes 3 --chatter 0.5
shows hear
replay ricart-agrawala --nodes 3 --faults pause,partition
shows partition
replay ricart-agrawala --nodes 3 --faults duplicate=0.3 --beyond-assumptions
shows duplicate
for seed in 1 2 3 4; do replay bully --nodes 4 --faults crash --seed "$seed"; done
cat >"$work/script.json" <<'S'
{"conclave-script": 1, "actions": [
  {"do": "wish", "at": 0, "node": 1, "hold": 0},
  {"do": "crash", "at": 15, "node": 4},
  {"do": "recover", "at": 400, "node": 4},
  {"do": "crash", "at": 700, "node": 3},
  {"do": "wish", "at": 705, "node": 2, "hold": 0},
  {"do": "recover", "at": 900, "node": 3, "durable": false}]}
S
replay bully --nodes 4 --script "$work/script.json"
shows crash
shows recover
shows timer
replay chang-roberts --nodes 5
for seed in 1 2 3 4; do replay paxos --nodes 3 --faults loss=0.2,duplicate=0.1,crash --seed "$seed"; done
shows lose
shows recover
replay paxos --nodes 5 --faults crash,unsynced,loss=0.1 --seed 8
grep -q "writes* lost" "$work/a.jsonl" || fail "no crash took writes with it"
# What a server of Raft was set up with is in its state, and need not be said again. What the simulator sees when it
# looks into all servers at once is not judged a second time.
for seed in 1 2 3; do
  "$CONCLAVE" sim raft --nodes 3 --faults all --set patience=77 --seed "$seed" --trace "$work/a.jsonl" >/dev/null
  "$CONCLAVE" sim raft --script "$work/a.jsonl" --trace "$work/b.jsonl" >/dev/null
  cmp "$work/a.jsonl" "$work/b.jsonl"
done
shows synced
replay sync-flooding --nodes 4
for seed in 1 2 3; do replay sync-flooding --nodes 4 --faults crash --beyond-assumptions --seed "$seed"; done
shows round
shows crash
for variant in canonical safe buffered; do replay bakery --nodes 3 --variant "$variant" --faults pause; done
shows access
replay bakery --nodes 3 --variant no-choosing --think 0 --seed 1
grep -q "EM1 *violated" "$work/replayed" || fail "the violation was not seen again"

# The outputs of any other run.
"$CONCLAVE" sim chang-roberts --nodes 3 --trace "$work/a.jsonl" --svg "$work/a.svg" --diagram >"$work/recorded"
"$CONCLAVE" sim chang-roberts --script "$work/a.jsonl" --svg "$work/b.svg" --diagram >"$work/replayed"
cmp "$work/a.svg" "$work/b.svg"
cmp <(sed '/^chang-roberts/,$d' "$work/recorded") <(sed '/^chang-roberts/,$d' "$work/replayed")
"$CONCLAVE" sim chang-roberts --script "$work/a.jsonl" --json | grep -q '"nodes": 3'

# Complaints: exit status 2 and a sentence.
refuses() {
  local sentence=$1 status=0
  shift
  "$CONCLAVE" sim "$@" >"$work/out" 2>&1 || status=$?
  [ "$status" -eq 2 ] || fail "sim $*: exit status $status"
  grep -qF -- "$sentence" "$work/out" || { cat "$work/out" >&2; fail "sim $*: no '$sentence'"; }
}
trace=$work/a.jsonl
refuses "this is a trace of chang-roberts, not of bully" bully --script "$trace"
refuses "--nodes 4: the trace" chang-roberts --nodes 4 --script "$trace"
refuses "--think has no say in it" chang-roberts --think 5 --script "$trace"
refuses "--seeds has no say in it" chang-roberts --seeds 5 --script "$trace"
sed '$d' "$trace" >"$work/cut.jsonl"
refuses "no end line" chang-roberts --script "$work/cut.jsonl"
# The first message arrives from somebody who did not send it; then somebody sends what the algorithm does not.
line=$(grep -n '"kind":"deliver"' "$trace" | head -1 | cut -d: -f1)
sed "${line}s/\"from\":[0-9]/\"from\":9/" "$trace" >"$work/other.jsonl"
refuses "step $((line - 1)): cannot deliver" chang-roberts --script "$work/other.jsonl"
line=$(grep -n '"kind":"deliver".*"sends"' "$trace" | head -1 | cut -d: -f1)
sed "${line}s/\"sends\":\[{\"to\":[0-9]/\"sends\":[{\"to\":9/" "$trace" >"$work/other.jsonl"
refuses "step $((line - 1)): what is sent: the trace shows" chang-roberts --script "$work/other.jsonl"
echo "what was recorded happens again"
