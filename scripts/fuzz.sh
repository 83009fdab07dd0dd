#!/usr/bin/env bash
# Runs each fuzzer from the committed corpus and says how many inputs it took, how fast, and what it found. New
# inputs go to build/fuzz/corpus, what broke something to build/fuzz/finds.
#
#   scripts/fuzz.sh                               two minutes each, under AddressSanitizer and UndefinedBehaviorSanitizer
#   SECONDS_EACH=600 scripts/fuzz.sh
#   RUNS_EACH=100000000 scripts/fuzz.sh           so many inputs each, however long that takes
#   FAST=1 RUNS_EACH=100000000 scripts/fuzz.sh    without sanitizers, several times as fast; the sanitized fuzzer then
#                                                 runs once over whatever was kept for reaching something new
#   ONLY="rpc request" JOBS=2 scripts/fuzz.sh     some of them, two at a time
#
# So many inputs are made in rounds of a few million. build/fuzz/inputs has what every round did: whoever stops in
# between, and starts again, goes on from there. Without that file it begins anew.
set -euo pipefail
targets=${ONLY:-decode files front kv text link word request rpc storage raft}
seconds=${SECONDS_EACH:-120}
round=${ROUND:-5000000}
kind=fuzz
[ -n "${FAST:-}" ] && kind=fuzz-fast
mkdir -p build/fuzz/corpus build/fuzz/finds build/fuzz/log
touch build/fuzz/inputs

# One run of a fuzzer over what is known; its output is appended to the log.
fuzz() {
  local kind=$1 target=$2 words=()
  shift 2
  [ "$target" = text ] && words=(-dict=tests/fuzz/text.dict)
  "build/$kind/${target}_fuzz" "$@" "${words[@]}" -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="build/fuzz/finds/$target-" "build/fuzz/corpus/$target" "tests/fuzz/corpus/$target" \
    >>"build/fuzz/log/$target" 2>&1
}
stat_of() { sed -n "s/^stat::$2: *//p" "build/fuzz/log/$1" | tail -n 1; }
done_by() { awk -v target="$1" -v kind="$kind" '$1 == target && $2 == kind {n += $3} END {print n + 0}' build/fuzz/inputs; }

# False if it broke something, or was stopped.
fuzz_and_note() {
  local target=$1 began
  shift
  began=$(date +%s.%N)
  : >"build/fuzz/log/$target"
  fuzz "$kind" "$target" "$@" || return
  echo "$target $kind $(stat_of "$target" number_of_executed_units) $(date +%s.%N) $began" |
    awk '{printf "%s %s %d %.1f\n", $1, $2, $3, $4 - $5}' >>build/fuzz/inputs
  [ "$kind" = fuzz ] || fuzz fuzz "$target" -runs=0
}

run() {
  local target=$1 left
  mkdir -p "build/fuzz/corpus/$target"
  if [ -z "${RUNS_EACH:-}" ]; then
    echo "Fuzzing $target for $seconds s"
    fuzz_and_note "$target" "-max_total_time=$seconds"
    return
  fi
  while left=$((RUNS_EACH - $(done_by "$target"))) && [ "$left" -gt 0 ]; do
    echo "Fuzzing $target: $left inputs to go"
    fuzz_and_note "$target" "-runs=$((left < round ? left : round))" || return
  done
}

before=$(wc -l <build/fuzz/inputs)
[ -n "${RUNS_EACH:-}" ] && before=0
began=$(date +%s)
touch -d "@$began" build/fuzz/began
for target in $targets; do
  while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-1}" ]; do wait -n || true; done
  (run "$target" || echo "$target ended with $?: build/fuzz/log/$target says more") &
done
wait

status=0
printf '%-8s %14s %12s %6s\n' target inputs 'a second' finds
for target in $targets; do
  # What took long may have been the machine, busy with others: it is kept, and counts for nothing.
  finds=$(find build/fuzz/finds -name "$target-*" ! -name '*-slow-unit-*' -newer build/fuzz/began | wc -l)
  [ "$finds" = 0 ] || status=1
  figures=$(tail -n "+$((before + 1))" build/fuzz/inputs | awk -v target="$target" -v kind="$kind" \
    '$1 == target && $2 == kind {n += $3; s += $4} END {if (n) printf "%d %d", n, n / s}')
  [ -n "$figures" ] || status=1
  read -r inputs rate <<<"${figures:-none -}"
  printf '%-8s %14s %12s %6s\n' "$target" "$inputs" "$rate" "$finds"
done
exit "$status"
