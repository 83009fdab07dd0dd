#!/usr/bin/env bash
# Runs each fuzzer from the committed corpus and says how many inputs it took, how fast, and what it found. New
# inputs go to build/fuzz/corpus, what broke something to build/fuzz/finds.
#
#   scripts/fuzz.sh                               two minutes each
#   SECONDS_EACH=600 scripts/fuzz.sh
#   RUNS_EACH=100000000 scripts/fuzz.sh           so many inputs each, however long that takes
#   ONLY="rpc request" JOBS=2 scripts/fuzz.sh     some of them, two at a time
set -euo pipefail
targets=${ONLY:-decode files kv text link word request rpc storage raft}
seconds=${SECONDS_EACH:-120}
bound="-max_total_time=$seconds"
[ -n "${RUNS_EACH:-}" ] && bound="-runs=$RUNS_EACH"
mkdir -p build/fuzz/corpus build/fuzz/finds build/fuzz/log

run() {
  local target=$1 words=()
  [ "$target" = text ] && words=(-dict=tests/fuzz/text.dict)
  mkdir -p "build/fuzz/corpus/$target"
  echo "Fuzzing $target: ${bound#-}"
  "build/fuzz/${target}_fuzz" "$bound" "${words[@]}" -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="build/fuzz/finds/$target-" "build/fuzz/corpus/$target" "tests/fuzz/corpus/$target" \
    >"build/fuzz/log/$target" 2>&1 || echo "$target ended with $?: build/fuzz/log/$target says more"
}

began=$(date +%s)
touch -d "@$began" build/fuzz/began
for target in $targets; do
  while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-1}" ]; do wait -n || true; done
  run "$target" &
done
wait

stat_of() { sed -n "s/^stat::$2: *//p" "build/fuzz/log/$1" | tail -n 1; }
status=0
printf '%-8s %14s %12s %6s\n' target inputs 'a second' finds
for target in $targets; do
  finds=$(find build/fuzz/finds -name "$target-*" -newer build/fuzz/began | wc -l)
  [ "$finds" = 0 ] || status=1
  inputs=$(stat_of "$target" number_of_executed_units)
  [ -n "$inputs" ] || status=1
  printf '%-8s %14s %12s %6s\n' "$target" "${inputs:-none}" "$(stat_of "$target" average_exec_per_sec)" "$finds"
done
exit "$status"
