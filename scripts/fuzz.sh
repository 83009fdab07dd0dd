#!/usr/bin/env bash
# Runs each fuzzer for SECONDS_EACH seconds from the committed corpus; new finds go to build/fuzz/corpus.
set -euo pipefail
seconds=${SECONDS_EACH:-120}
for target in decode kv text link word request rpc storage raft; do
  mkdir -p "build/fuzz/corpus/$target"
  echo "Fuzzing $target for $seconds seconds"
  "build/fuzz/${target}_fuzz" -max_total_time="$seconds" -print_final_stats=1 -verbosity=0 \
    "build/fuzz/corpus/$target" "tests/fuzz/corpus/$target"
done
