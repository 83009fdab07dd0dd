#!/usr/bin/env bash
# The checker finds what is there, finds nothing else, says what it has seen, and its counterexamples are runs.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
has() { grep -qF -- "$2" "$1" || { echo "no '$2' in:" >&2; cat "$1" >&2; exit 1; }; }
lacks() { ! grep -qF -- "$2" "$1" || { echo "'$2' in:" >&2; cat "$1" >&2; exit 1; }; }
# ends STATUS arguments…: conclave check ends with that status; what it prints is in $work/out.
ends() {
  local wanted=$1 status=0
  shift
  "$CONCLAVE" check "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
  if [ "$status" != "$wanted" ]; then
    echo "conclave check $*: status $status, wanted $wanted" >&2
    cat "$work/out" "$work/err" >&2
    exit 1
  fi
  if [ "$wanted" != 2 ] && [ -s "$work/err" ]; then
    echo "conclave check $* talks on stderr, which is no terminal:" >&2
    cat "$work/err" >&2
    exit 1
  fi
}
# What has to be the same however it was searched for.
steady() { grep -vE '"(seconds|states_per_second|bytes|bytes_per_state)":' "$work/out"; }
figure() { sed -n "s/^  \"$1\": \([0-9]*\),\$/\1/p" "$work/out"; }

# Three who ask at once can deadlock: nothing shorter than three requests and their three deliveries does it.
ends 1 maekawa --nodes 3 --entries 1 --property ND --trace "$work/deadlock.jsonl" --svg "$work/deadlock.svg"
has "$work/out" "maekawa: 3 nodes, 1 entry each"
has "$work/out" "ND is violated after 6 steps"
has "$work/out" "p1 asks to enter"
has "$work/out" "conclave sim maekawa --script $work/deadlock.jsonl"
has "$work/out" "conclave trace $work/deadlock.jsonl"
lacks "$work/out" "DISAGREE"
has "$work/deadlock.svg" "</svg>"
ends 1 maekawa --nodes 3 --entries 1 --property ND --json
has "$work/out" '"steps": 6,'
has "$work/out" '"confirmed": true'
has "$work/out" '"holds": false'

# The counterexample is a run: the simulator repeats its steps, and the monitor sees the deadlock.
"$CONCLAVE" sim maekawa --script "$work/deadlock.jsonl" --trace "$work/again.jsonl" >"$work/sim"
has "$work/sim" "nothing is under way, and p1, p2, p3 are waiting"
sed 1d "$work/deadlock.jsonl" >"$work/steps"
sed 1d "$work/again.jsonl" | cmp - "$work/steps"
[ "$(grep -c '"kind":"\(command\|deliver\)"' "$work/steps")" = 6 ]
"$CONCLAVE" trace "$work/deadlock.jsonl" --diagram >"$work/drawn"
has "$work/drawn" "p1 asks to enter"

# What holds holds, and every state was seen.
ends 0 ricart-agrawala --nodes 3 --entries 1 --tells 0 --trace "$work/none.jsonl"
has "$work/out" "Every state that is reachable was seen."
has "$work/out" "There is no counterexample: nothing was written."
[ ! -e "$work/none.jsonl" ]
grep -qE '^  EM1 +holds$' "$work/out"
lacks "$work/out" "violated"

# However it is searched for, the result is the same.
standard=(ricart-agrawala --nodes 3 --entries 1 --tells 0 --json)
ends 0 "${standard[@]}" --workers 1
steady >"$work/one"
ends 0 "${standard[@]}" --workers 2
steady | cmp - "$work/one"
ends 0 "${standard[@]}" --exact
steady | cmp - "$work/one"
for name in ricart-agrawala lamport central-server token-ring maekawa; do
  ends 0 "$name" --nodes 3 --entries 1 --tells 0 --no-symmetry --json
  states=$(figure states) edges=$(figure edges) depth=$(figure depth) final=$(figure final_states)
  ends 0 "$name" --nodes 3 --entries 1 --tells 0 --no-symmetry --no-partial-order --json
  [ "$states $depth $final" = "$(figure states) $(figure depth) $(figure final_states)" ] ||
    { echo "$name: the reduction changes what is seen: $states states, depth $depth, $final final" >&2; cat "$work/out" >&2; exit 1; }
  [ "$edges" -le "$(figure edges)" ]
done
# … counterexamples included.
ends 1 maekawa --property ND --json --workers 1
steady >"$work/one"
ends 1 maekawa --property ND --json --workers 2
steady | cmp - "$work/one"
ends 1 maekawa --property ND --json --no-partial-order --no-symmetry
has "$work/out" '"steps": 6,'

# The report names the reduction that was used.
ends 0 maekawa
has "$work/out" "reduction: symmetry;"
ends 0 lamport --nodes 2
has "$work/out" "reduction: partial order;"
ends 0 lamport --nodes 2 --no-partial-order
has "$work/out" "reduction: none;"

# Some act and others do not; who gives no tokens claims none.
ends 0 bully --entries 1,0,0
has "$work/out" "3 nodes, 0 entries each, p1: 1, FIFO"
ends 0 bakery --nodes 2 --set tokens=0
lacks "$work/out" "fence"

# A process that comes back does not keep an election from ending.
ends 0 bully-polite --nodes 2 --crashes 1 --recoveries 1
has "$work/out" "within these budgets was seen"

# Who asks for the canonical form gets it, also where the standard configuration has another.
ends 0 raft --fifo --timeouts 1 --variant canonical --json
has "$work/out" '"variant": "canonical"'

# A deviation, and links that are worse than the algorithm assumes.
ends 1 maekawa --variant no-self-vote --property EM1
has "$work/out" "EM1 is violated"
has "$work/out" "although"
ends 1 lamport --tells 0 --unordered
has "$work/out" "Beyond assumptions."

# Bounds end a search cleanly.
for bound in "--max-states 1000" "--max-states 1e3" "--max-depth 5" "--memory 200K"; do
  # shellcheck disable=SC2086
  ends 3 ricart-agrawala --nodes 4 --entries 2 --tells 0 $bound
  has "$work/out" "Bounded by ${bound%% *}"
  has "$work/out" "nothing is said about what lies beyond"
  has "$work/out" "not violated in what was seen"
  lacks "$work/out" "Every state"
done
ends 3 ricart-agrawala --nodes 4 --entries 2 --tells 0 --max-states 1000 --json
has "$work/out" '"complete": false'
has "$work/out" '"stopped_by": "--max-states 1000"'

# The list.
ends 0
has "$work/out" "ricart-agrawala"
has "$work/out" "conclave check NAME explores one"
ends 0 --json
has "$work/out" '"name": "chang-roberts"'

# Bad input gets one line that says what would be right.
refuses() {
  local words=$1
  shift
  ends 2 "$@"
  [ ! -s "$work/out" ] && [ "$(wc -l <"$work/err")" = 1 ] || { cat "$work/out" "$work/err" >&2; exit 1; }
  has "$work/err" "$words"
}
refuses "did you mean ricart-agrawala?" ricart-agrawalla
refuses "is not explored; conclave check lists what is" vector-clock
refuses "has no variant 'best'; there is canonical" lamport --variant best
refuses "has no parameters" lamport --set f=1
refuses "runs with 1 to" lamport --nodes 0
refuses "up to 24 processes" lamport --nodes 25
refuses "--entries -1: must lie between 0 and" lamport --entries -1
refuses "1,0,0 says it of each" lamport --entries 1,,0
refuses "one for each of 3 processes" lamport --nodes 3 --entries 1,0
refuses "--crashes 16: must lie between 0 and 15" lamport --crashes 16
refuses "add --crashes" lamport --recoveries 1
refuses "its time-outs are free" bully --timeouts 1
refuses "share registers" bakery --losses 1
refuses "there are no links" bakery --fifo
refuses "give one" lamport --fifo --unordered
refuses "of lamport can be checked EM1" lamport --property EM9
refuses "write 10000000 or 1e7" lamport --max-states many
refuses "write 500M or 2G" lamport --memory much
refuses "--workers 0: must lie between 1 and 256" lamport --workers 0
refuses "--max-depth" lamport --max-depth 0
refuses "not both" lamport --all
refuses "is for one algorithm" --all --nodes 3
refuses "goes with --all" lamport --long
refuses "say of which algorithm" --nodes 3
refuses "--help" lamport --frobnicate
refuses "cannot write" maekawa --property ND --trace "$work/nowhere/t.jsonl"
