#!/usr/bin/env bash
# Bad input gets one line that says what is wrong, status 2, and leaves nothing behind.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
problems=0

# refuses WORDS command…: the words must stand in the one line on stderr.
refuses() {
  local words=$1 status=0
  shift
  "$CONCLAVE" "$@" >"$work/stdout" 2>"$work/stderr" </dev/null || status=$?
  if [ "$status" != 2 ] || [ -s "$work/stdout" ] || [ "$(wc -l <"$work/stderr")" != 1 ] || ! grep -qF -- "$words" "$work/stderr"; then
    echo "conclave $*: status $status, wanted 2 and '$words'; got:" >&2
    cat "$work/stdout" "$work/stderr" >&2
    problems=$((problems + 1))
  fi
}

# exposes WORDS command…: an open port is refused in one line, and two more say what mends it.
exposes() {
  local words=$1 status=0
  shift
  timeout 10 "$CONCLAVE" "$@" >"$work/stdout" 2>"$work/stderr" </dev/null || status=$?
  if [ "$status" != 2 ] || [ -s "$work/stdout" ] || [ "$(wc -l <"$work/stderr")" != 3 ] || ! grep -qF -- "$words" "$work/stderr"; then
    echo "conclave $*: status $status, wanted 2 and '$words' in three lines; got:" >&2
    cat "$work/stdout" "$work/stderr" >&2
    problems=$((problems + 1))
  fi
}

# Names.
refuses "did you mean ricart-agrawala?" sim ricart-agrawalla
refuses "conclave catalogue lists all" sim zzzzzz
refuses "did you mean token-ring?" catalogue token-rin
refuses "has no variant 'best'; there is canonical" sim lamport --variant best
refuses "--help" frobnicate
refuses "--help" sim
refuses "--help" sim lamport --frobnicate
refuses "--help"

# Figures of papers.
refuses "raft has no figure 'downloads'; there is elections" sim raft --figure downloads
refuses "lamport has no figure; there is elections of raft" sim lamport --figure elections
refuses "--nodes has no say in it" sim raft --figure elections --nodes 5
refuses "--seeds has no say in it" sim raft --figure elections --seeds 5
refuses "--trials 0: must lie between 1 and 1,000,000" sim raft --figure elections --trials 0
refuses "--trials" sim raft --figure elections --trials many
refuses "give --figure, or --seeds" sim raft --trials 5
refuses "--jobs" sim raft --figure elections --jobs 0
refuses "the figure elections knows request, answer, servers, stale" sim raft --figure elections --set patience=5
refuses "request is a number between 1 and 100000" sim raft --figure elections --set request=0
refuses "at most 1 can be stale" sim raft --figure elections --set servers=3 --set stale=2
refuses "/no/such/folder" sim raft --figure elections --trials 1 --plot /no/such/folder/figure.svg
# Saved stores.
refuses "--help" snapshot
refuses "FILE is required" snapshot save
refuses "FILE is required" snapshot status
refuses "--data is required" snapshot restore saved
refuses "--bump" snapshot restore saved --data none --bump 0
refuses "--id says so" snapshot restore saved --data none --members 1=a:1,2=b:2
refuses "4" snapshot restore saved --data none --id 4 --members 1=a:1,2=b:2
refuses "and --members does not" snapshot restore saved --data none --members 1=a:1 --clients 2=b:2
refuses "--endpoints names no server" snapshot save saved --endpoints ,

# Numbers.
refuses "runs with 1 to" sim lamport --nodes 0
refuses "runs with 1 to" sim lamport --nodes 1000000000
refuses "runs with 1 to" sim token-ring --nodes -3
refuses "--nodes" sim lamport --nodes three
refuses "--entries" sim lamport --entries -1
refuses "--seeds" sim lamport --seeds 0
refuses "--jobs" sim lamport --seeds 5 --jobs 0
refuses "between 0 and 1" sim lamport --chatter 2
refuses "write fixed:10" sim lamport --delay slow
refuses "write fixed:10" sim lamport --delay uniform:9-1
refuses "write fixed:10" sim lamport --delay fixed:99999999999999999999
refuses "--think" sim lamport --think soon
refuses "--hold" sim lamport --hold -1
refuses "unknown fault 'fire'" sim lamport --faults fire
refuses "no rate for loss" sim lamport --faults loss=7 --beyond-assumptions
refuses "takes no rate" sim lamport --faults pause=3
refuses "1 to 256 nodes" compare --nodes 3,0
refuses "low, high or both" compare --load middling

# Contradictions.
refuses "give one of them" sim lamport --seed 3 --seeds 10
refuses "give --seed instead of --seeds" sim lamport --seeds 10 --diagram
refuses "give --seed instead of --seeds" sim lamport --seeds 10 --trace "$work/t.jsonl"
refuses "give one of them" sim lamport --json --diagram
refuses "add --beyond-assumptions" sim lamport --faults crash
refuses "add --beyond-assumptions" sim lamport --unordered
refuses "unordered already" sim ricart-agrawala --unordered --beyond-assumptions
refuses "give one" sim lamport --fifo --unordered --beyond-assumptions
refuses "give one" sim raft --fifo --faults reorder=0.1

# Scripts.
script() { printf '%s' "$1" >"$work/script.json"; }
script '{"conclave-script": 1, "actions": []}'
refuses "give one of them" sim lamport --script "$work/script.json" --faults pause
refuses "cannot read" sim lamport --script "$work/none.json"
script 'hello'
refuses "not JSON" sim lamport --script "$work/script.json"
script '{"actions": []}'
refuses "conclave-script" sim lamport --script "$work/script.json"
script '{"conclave-script": 9, "actions": []}'
refuses "version 9" sim lamport --script "$work/script.json"
script '{"conclave-script": 1, "actions": [{"do": "dance", "at": 1}]}'
refuses "action 1: \"do\" is \"dance\"" sim lamport --script "$work/script.json"
script '{"conclave-script": 1, "actions": [{"do": "wish", "at": 1, "hold": 1, "node": 99}]}'
refuses "99 is no member" sim lamport --script "$work/script.json"
script '{"conclave-script": 1, "actions": [{"do": "wish", "node": 1}]}'
refuses "\"at\" is missing" sim lamport --script "$work/script.json"
script '{"conclave-script": 1, "actions": [{"do": "lose", "node": 1, "nth": 1}]}'
refuses "add --beyond-assumptions" sim lamport --script "$work/script.json"

# Tables of delays.
printf '{"links": []}' >"$work/table.json"
refuses "no \"default\" delay" sim lamport --delay "table:$work/table.json"
refuses "cannot read the delay table" sim lamport --delay table:/nowhere

# Traces.
"$CONCLAVE" sim lamport --nodes 3 --trace "$work/run.jsonl" >/dev/null
head -n 20 "$work/run.jsonl" >"$work/cut.jsonl"
refuses "truncated: 19 steps and no end line" trace "$work/cut.jsonl"
head -c 3000 "$work/run.jsonl" >"$work/cut.jsonl"
refuses "not a JSON object" trace "$work/cut.jsonl"
sed '1s/"conclave-trace":1/"conclave-trace":7/' "$work/run.jsonl" >"$work/new.jsonl"
refuses "line 1: format version 7" trace "$work/new.jsonl"
sed '5s/"kind":"[a-z]*"/"kind":"magic"/' "$work/run.jsonl" >"$work/odd.jsonl"
refuses "line 5: unknown kind" trace "$work/odd.jsonl"
: >"$work/empty.jsonl"
refuses "empty" trace "$work/empty.jsonl"
refuses "cannot read" trace "$work/none.jsonl"

# Vectors.
printf 'no json' >"$work/vectors.json"
refuses "not JSON" accept "$work/vectors.json"
printf '{"format": "acceptance-vectors/1"}' >"$work/vectors.json"
refuses "no list \"vectors\"" accept "$work/vectors.json"
printf '{"format": "acceptance-vectors/9", "vectors": []}' >"$work/vectors.json"
refuses "acceptance-vectors/9" accept "$work/vectors.json"
printf '{"vectors": [{"name": "a/b", "algorithm": "maekawa", "kind": "script"}]}' >"$work/vectors.json"
refuses "vector 1 ('a/b') has no object \"expected\"" accept "$work/vectors.json"
refuses "no vector" accept tests/vectors/mutex.json --only 'nothing/*'

# Nothing half-written: a file that cannot be written leaves no trace, nor does a refused run.
refuses "cannot write" sim lamport --trace "$work/none/run.jsonl"
refuses "cannot write" sim lamport --trace /dev/full
refuses "cannot write" sim lamport --svg "$work/none/run.svg"
left=$(find "$work" -name '*.tmp*' -o -name 't.jsonl')
if [ -n "$left" ]; then
  echo "left behind: $left" >&2
  problems=$((problems + 1))
fi
# Clocks and discovery.
refuses "--help" time
refuses "is no address" time sync :::
refuses "beyond --drift-ppm 100" time sync localhost --skew-ppm 500
refuses "--every" time sync localhost --every 0
refuses "--listen takes another address" time serve --listen 203.0.113.1:7037
refuses "write ID=HOST:PORT" time berkeley --id 1 --members 1-127.0.0.1:7101
refuses "member 2 is not in the list" time berkeley --id 2 --members 1=127.0.0.1:7101
refuses "--expect" discover shop
refuses "name one of its addresses" discover shop --expect 2 --listen 0.0.0.0:7201
refuses "is no multicast address" discover shop --expect 2 --multicast 127.0.0.1:7201
refuses "is no address of an interface" discover shop --expect 2 --interface lo
refuses "no-such-file" discover shop --expect 2 --key-file "$work/no-such-file"
refuses "--help" registry

# Members.
refuses "did you mean maekawa" serve --engine maekava
refuses "does not run as a service; those that do: " serve --engine paxos
refuses "which of the members is this one" serve --members 1=127.0.0.1:7101,2=127.0.0.1:7102
refuses "member 3 is not in the list" serve --id 3 --members 1=127.0.0.1:7101,2=127.0.0.1:7102
refuses "write ID=HOST:PORT" serve --id 1 --members 127.0.0.1:7101
refuses "numbered from 1" serve --id 0 --members 0=127.0.0.1:7101
refuses "has no variant 'odd'" serve --engine central-server --variant odd
refuses "has no parameter 'speed'" serve --engine central-server --set speed=9
refuses "raft has no parameters" serve --set speed=9
refuses "keeps nothing on disk" serve --engine central-server --data "$work/data"
refuses "cannot read" serve --config "$work/none.toml"
printf 'engine = "lamport"\nport = 7\n' >"$work/member.toml"
refuses "member.toml:2: 'port' is not known" serve --config "$work/member.toml"
printf 'secret of all members' >"$work/key"
chmod 644 "$work/key"
refuses "chmod 600" serve --key-file "$work/key"
refuses "needs --listen" serve --discover shop
refuses "cannot write" serve --engine central-server --trace "$work/none/trace"
refuses "cannot write" serve --data "$work/data" --trace "$work/none/trace"
refuses "who joins writes none" serve --join --trace "$work/trace"
refuses "is no lock" bench live --engines bully
refuses "a server needs a certificate" serve --client-tls
refuses "a server needs a certificate" serve --client-ca "$work/key"
refuses "is no time; write 5m" serve --data "$work/data" --auto-compaction-retention soon
refuses "less than a second" serve --data "$work/data" --auto-compaction-retention 5ms
refuses "neither periodic nor revision" serve --data "$work/data" --auto-compaction-mode hourly
refuses "how many stay" serve --data "$work/data" --auto-compaction-mode revision
refuses "'5m' is no number of revisions" serve --data "$work/data" --auto-compaction-mode revision --auto-compaction-retention 5m
refuses "has no history" serve --engine lamport --auto-compaction-retention 5m
refuses "--quota-backend-bytes: 'much' is no size" serve --data "$work/data" --quota-backend-bytes much
refuses "less than 1M" serve --data "$work/data" --quota-backend-bytes 1000
refuses "has no store" serve --engine lamport --quota-backend-bytes 1G
refuses "write 500M" serve --client-memory much
refuses "less than 16M" serve --client-memory 1M

# Ports that others reach. 192.0.2.1 is nobody's address: what is let by cannot listen there.
for open in 0.0.0.0:0 :0 '[::]:0' '[::ffff:0.0.0.0]:0' 192.0.2.1:2379; do
  exposes "--insecure-clients" serve --data "$work/data" --client "$open"
  exposes "--client-tls --tls-cert FILE" serve --engine lamport --client "$open"
done
exposes "--insecure-members" serve --data "$work/data" --members 1=192.0.2.1:7101
exposes "--key-file FILE" serve --engine lamport --id 2 --members 1=127.0.0.1:7101,2=192.0.2.1:7102
exposes "--key-file FILE" serve --data "$work/data" --listen 0.0.0.0:7101
exposes "--key-file FILE" serve --engine lamport --discover shop --expect 2 --listen 192.0.2.1:7101
printf 'client = "0.0.0.0:0"\n' >"$work/open.toml"
exposes "--insecure-clients" serve --data "$work/data" --config "$work/open.toml"
printf 'insecure-members = true\nclient = "127.0.0.1:0"\n[members]\n1 = "192.0.2.1:7101"\n' >"$work/open.toml"
refuses "192.0.2.1:7101: cannot listen" serve --engine lamport --config "$work/open.toml"
for closed in 127.0.0.1 127.8.8.8 localhost '[::1]' '[::ffff:127.0.0.1]'; do
  refuses "which of the members is this one" serve --members 1=127.0.0.1:7101,2=127.0.0.1:7102 --client "$closed:2379"
done

# Histories.
refuses "No such file" history "$work/none.jsonl"
refuses "directory" history "$work"
refuses "no operation" history -
printf '{"process":1,"op":"put","key":"a","begin":0}\n' >"$work/wrong.jsonl"
refuses 'line 1: "value" is missing' history "$work/wrong.jsonl"
refuses "--steps" history "$work/wrong.jsonl" --steps 0

[ "$problems" = 0 ]
