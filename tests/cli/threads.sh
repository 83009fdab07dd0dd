#!/usr/bin/env bash
# Many seeds in parallel: the outcome does not depend on the number of jobs.
set -euo pipefail
"$CONCLAVE" sim ricart-agrawala --faults all --seeds 200 --jobs 4
for jobs in 1 2 5; do
  out=$("$CONCLAVE" sim ricart-agrawala --variant nonatomic-exit --nodes 3 --seeds 500 --jobs "$jobs" || true)
  echo "$out" | grep -q 'replay: conclave sim ricart-agrawala'
  [ "${first:-$out}" = "$out" ]
  first=$out
done
