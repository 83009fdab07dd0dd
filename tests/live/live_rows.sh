#!/usr/bin/env bash
# Every algorithm that runs between real processes does: it keeps what it claims, enters as often as it was
# asked to, and the simulator takes the same steps to the same states. Also: files of members are joined.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work  # where the processes of a run write; nobody else's do
problems=0
complain() {
  echo "$*" >&2
  problems=$((problems + 1))
}

# What a run says of itself: field FILE name.
field() { python3 -c 'import json,sys; r=json.load(open(sys.argv[1])); print(eval(sys.argv[2], {}, {"r": r}))' "$1" "$2"; }

# live NAME NODES ENTRIES least-number-of-entries-or-messages, further flags
live() {
  local name=$1 nodes=$2 entries=$3 least=$4
  shift 4
  local report="$work/$name-$nodes.json"
  if ! timeout 60 "$CONCLAVE" live "$name" --nodes "$nodes" --entries "$entries" --json "$@" >"$report" 2>"$work/err"; then
    complain "$name with $nodes: $(head -c 600 "$work/err" "$report")"
    return
  fi
  local done
  case $name in
    bakery | dijkstra) done=$(field "$report" 'r["entries"]') ;;
    *)
      [ "$(field "$report" 'r["parity"]["agrees"]')" = True ] || complain "$name with $nodes: no parity"
      [ "$(field "$report" 'r["parity"]["steps"]')" -ge "$nodes" ] || complain "$name with $nodes: nothing happened"
      done=$(field "$report" 'len(r["entries"]) if "entries" in r else r["messages"]["total"]') ;;
  esac
  [ "$done" -ge "$least" ] || complain "$name with $nodes: $done, at least $least are due"
}

# Clocks and discovery have verbs of their own.
names=$("$CONCLAVE" catalogue --world live --names | grep -vxE 'cristian|berkeley|discovery' | tr '\n' ' ')
[ "$(wc -w <<<"$names")" -ge 20 ] || complain "only these run live: $names"
for name in $names; do
  case $name in
    bakery | dijkstra) live "$name" 3 100 300 ;;
    maekawa) live "$name" 3 3 1 ;;  # may come to a standstill, as it does not claim otherwise
    global-snapshot) live "$name" 3 8 20 ;;
    all-to-all | chang-roberts | ring-list | bully*) live "$name" 3 1 2 ;;
    *) live "$name" 3 4 12 ;;
  esac
done
live ricart-agrawala 5 3 15
live maekawa-deadlock-free 7 2 14
live central-token 5 3 15
live global-snapshot 5 8 40
live bakery 5 60 300
# With everything that Raft has beyond its paper's figure 2: reads, snapshots, other members, other leaders.
live raft 3 6 12 --set extras=2 --seed 3

# A leader that is killed is replaced; the run with its death is repeated as well.
live bully 3 1 2 --kill 3@1
for node in 1 2 3; do live raft 3 5 10 --kill $node@2; done  # one of them leads

# A trace can be kept, drawn and judged again.
"$CONCLAVE" live lamport --entries 2 --trace "$work/run.jsonl" --diagram >"$work/out"
grep -q 'all states agree' "$work/out" || complain "no line on parity"
"$CONCLAVE" trace "$work/run.jsonl" >"$work/out" || complain "a merged trace fails: $(cat "$work/out")"
grep -q 'clocks .*right' "$work/out" || complain "its clocks are wrong"
"$CONCLAVE" sim lamport --script "$work/run.jsonl" >/dev/null || complain "it cannot be replayed"

# The files of processes are joined as their users would do it; of several runs in a file one is named.
ports=$(python3 -c '
import socket
s = [socket.socket() for _ in range(3)]
for one in s: one.bind(("127.0.0.1", 0))
print(*[one.getsockname()[1] for one in s], sep=",")')
for i in 1 2 3; do
  timeout 30 "$CONCLAVE" live-process lamport --self $i --ports "$ports" --entries 2 --patience 20 --part "$work/p$i" &
done
wait
"$CONCLAVE" trace merge "$work"/p[123] -o "$work/merged.jsonl" 2>"$work/err" || complain "not merged: $(cat "$work/err")"
"$CONCLAVE" trace merge "$work"/p[321] 2>/dev/null | cmp - "$work/merged.jsonl" || complain "another order, another trace"
"$CONCLAVE" trace "$work/merged.jsonl" >/dev/null || complain "a merged trace fails"
for i in 1 2 3; do
  for epoch in 1 2; do sed "s/^{/{\"run\":\"printer@$epoch\",/" "$work/p$i"; done >"$work/m$i"
done
if "$CONCLAVE" trace merge "$work"/m[123] >"$work/out" 2>"$work/err"; then complain "which of two runs?"; fi
grep -q 'printer@2 *lamport *p1 p2 p3' "$work/out" || complain "runs are not listed: $(cat "$work/out")"
"$CONCLAVE" trace merge "$work"/m[123] --run printer@2 2>/dev/null | cmp - "$work/merged.jsonl" || complain "the run is another"
"$CONCLAVE" trace merge "$work"/m[13] --run printer@2 2>"$work/err" >/dev/null || complain "two of three cannot be merged"
grep -q 'no file tells what p2 did' "$work/err" || complain "nothing is said of p2"
head -c 900 "$work/p2" >"$work/torn"
"$CONCLAVE" trace merge "$work/p1" "$work/torn" "$work/p3" 2>"$work/err" >/dev/null || complain "a torn file is refused"
grep -q 'torn:.* torn, and was left out' "$work/err" || complain "nothing is said of the torn line: $(cat "$work/err")"

# What makes no sense is refused.
refuse() {
  if timeout 20 "$CONCLAVE" "$@" >"$work/out" 2>"$work/err" || [ $? != 2 ]; then complain "not refused: $*"; fi
}
refuse live paxos
refuse live lamport --nodes 1000
refuse live lamport --kill 9@1
refuse live lamport --kill x
refuse live chang-roberts --kill 2@1
refuse live bakery --trace "$work/no.jsonl"
refuse trace merge "$work/run.jsonl"
refuse trace "$work/p1"
refuse trace merge "$work/m1" --run printer@9
sed '3s/"lamport":/"lamport":9/' "$work/p1" >"$work/wrong"
refuse trace merge "$work/wrong" "$work/p2" "$work/p3"
grep -q 'wrong:3: its clocks' "$work/err" || complain "no place is named: $(cat "$work/err")"
refuse trace merge "$work/nowhere.jsonl"

# Nobody is left behind.
if pgrep -f "live-process.*$work" >/dev/null; then complain "processes are left"; fi
[ "$problems" = 0 ]
