#!/usr/bin/env bash
# Logs of vector clocks are read in all their forms, checked, and asked questions.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
logs=tests/logs
has() { grep -qF -- "$2" "$1" || { echo "no '$2' in:" >&2; cat "$1" >&2; exit 1; }; }
# says STATUS WORDS arguments…: conclave trace ends with that status and prints the words.
says() {
  local wanted=$1 words=$2 status=0
  shift 2
  "$CONCLAVE" trace "$@" >"$work/out" 2>"$work/err" || status=$?
  cat "$work/err" >>"$work/out"
  if [ "$status" != "$wanted" ]; then
    echo "conclave trace $*: status $status, wanted $wanted" >&2
    cat "$work/out" >&2
    exit 1
  fi
  has "$work/out" "$words"
}

# The forms.
says 0 "two lines per event, the clock first" "$logs/letters.log"
has "$work/out" "3 hosts, 10 events"
has "$work/out" "concurrent pairs  13 of 45"
has "$work/out" "longest chain     7 events: alice.1–2 → bob.2–3 → carol.2–3 → alice.4"
has "$work/out" "clocks            right"
says 0 "2 hosts, 6 events" "$logs/joined.log"
has "$work/out" "longest chain     5 events: client.1–2 → server.2–3 → client.3"
says 0 "two lines per event, the clock last" "$logs/words_first.log"
says 0 "one line per event" "$logs/one_line.log"
says 0 "by regular expression; 1 skipped" "$logs/actors.log" \
  --regex '\[\w+\] \[(?<date>([^ ]+ [^ ]+))\] [^ ]+ \[actors://town/user/(?<host>\w+)\] (?<clock>.*\}) (?<event>.*)'
says 0 "2 hosts, 2 events" "$logs/states.log" \
  --regex '^State \d+: <(?<event>.*)>\n/\\ Host = (?<host>.*)\n/\\ Clock = "(?<clock>.*)"'
says 0 "execution 2: hasty" "$logs/two_runs.log"
has "$work/out" "concurrent pairs  2 of 3"
cat "$logs/letters.log" | "$CONCLAVE" trace - >"$work/out"
has "$work/out" "3 hosts, 10 events"

# Questions.
says 0 "alice.1 happened before carol.3" "$logs/letters.log" --before alice.1 carol.3
has "$work/out" "alice.1–2 → bob.2–3 → carol.2–3"
says 1 "no, alice.1 happened before carol.3" "$logs/letters.log" --before carol:3 alice:1
says 1 "alice.3 and bob.3 are concurrent" "$logs/letters.log" --before alice.3 bob.3
says 0 "consistent" "$logs/letters.log" --cut alice=2,bob=3,carol=1
says 1 "bob.2 (line 7) is inside and received from alice.2 (line 3), which is outside" "$logs/letters.log" --cut alice=1,bob=2
has "$work/out" "least consistent cut that contains it: alice=2,bob=2,carol=0"
has "$work/out" "greatest one inside it: alice=1,bob=1,carol=0"
says 1 "not consistent" "$logs/letters.log" --cut alice=4 --cut alice=0
says 0 "recovery line: alice=3,bob=1,carol=1" "$logs/letters.log" --checkpoints alice=3,bob=1,carol=1,carol=2
has "$work/out" "carol goes back from 2 to 1: carol.2 knows bob.3, which is undone"
says 0 "a.1 happened before b.1" "$logs/two_runs.log" --execution 1 --before a.1 b.1

# Clocks that are wrong are named by their line.
says 1 "line 5: the clock of b.2 goes backwards: it knew a.1 before" "$logs/backwards.log"
grep -A1 '^alice' "$logs/letters.log" | grep -v '^--' >"$work/alone.log"
says 1 "line 7: alice.4 knows bob.3, which is not in the log: the file has no events of bob; join the logs" "$work/alone.log"
sed '7,8d' "$logs/letters.log" >"$work/gap.log"
says 1 "line 7: the own entry of bob goes from 1 to 3, not by one" "$work/gap.log"
says 2 "the clocks are wrong" "$work/gap.log" --before alice.1 bob.1

# Bad input gets one line and status 2.
says 2 "there is no host 'alcie'; did you mean 'alice'?" "$logs/letters.log" --before alcie.1 bob.1
says 2 "bob has 3 events; there is no bob.9" "$logs/letters.log" --cut bob=9
says 2 "'bob' should be host=number" "$logs/letters.log" --cut bob
says 2 "say which one with --execution" "$logs/two_runs.log" --before a.1 b.1
says 2 "2 executions in the file" "$logs/two_runs.log" --execution 3 --before a.1 b.1
says 2 "is no regular expression" "$logs/letters.log" --regex '(?<host>'
says 2 "no group (?<event>…)" "$logs/letters.log" --regex '(?<host>a)(?<clock>b)'
says 2 "matches nothing" "$logs/letters.log" --regex '(?<host>q)(?<clock>q)(?<event>q)'
says 2 "no entry for its own host '[actors://town/user/baker]'" "$logs/actors.log"
says 2 "is a directory" "$logs"
head -c 170 "$logs/letters.log" >"$work/cut.log"
says 2 "broken clock: it is cut off" "$work/cut.log"
head -c 1000 /bin/sh >"$work/binary"
says 2 "binary, not a log" "$work/binary"
printf 'nothing here\nlooks like a clock\n' >"$work/text"
says 2 "no line looks like host" "$work/text"
: >"$work/empty"
says 2 "the file is empty" "$work/empty"

# Pictures carry the hosts' names; what is exported reads the same, from logs and from our own traces.
says 0 "alice: writes a letter" "$logs/letters.log" --diagram --svg "$work/letters.svg"
has "$work/letters.svg" ">carol</text>"
has "$work/letters.svg" "message from alice to bob"
says 0 "clocks" "$logs/words_first.log" --shiviz "$work/again.log"
says 0 "3 hosts, 6 events" "$work/again.log"
"$CONCLAVE" sim ricart-agrawala --nodes 3 --entries 1 --trace "$work/run.jsonl" >/dev/null
says 0 "EM3    holds" "$work/run.jsonl" --shiviz "$work/run.log"
has "$work/out" "clocks            right"
grep 'concurrent pairs\|longest chain\|consistent cuts' "$work/out" >"$work/ours"
says 0 "3 hosts" "$work/run.log"
grep 'concurrent pairs\|longest chain\|consistent cuts' "$work/out" | cmp - "$work/ours"
says 1 "happened before" "$work/run.jsonl" --before p1.2 p1.1

# For programs.
says 1 '"least_containing"' "$logs/letters.log" --cut alice=1,bob=2 --json
has "$work/out" '"concurrent_pairs": 13'
says 1 '"line": 5' "$logs/backwards.log" --json
