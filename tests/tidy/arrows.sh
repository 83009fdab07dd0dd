#!/usr/bin/env bash
# Reads every #include line under src/ and keeps the dependency arrows true. A folder may include itself
# and what its row lists; unit tests may also include what they test with.
set -euo pipefail

declare -A may_include=(
  [core]=""
  [protocols]="core"
  [kv]="core"
  [trace]="core"
  [graph]="core"
  [plot]=""
  [linear]="core"
  [causality]="core trace"
  [sim]="core trace"
  [check]="core trace"
  [live]="core trace storage"
  [rpc]="core"
  [storage]="core"
  [client]="core rpc"
  [load]="core rpc"
  [desk]="core live rpc"
  [cluster]="core protocols live storage"
  [etcd]="core kv live rpc storage cluster"
  [catalogue]="core protocols trace sim check graph linear causality live"
  [accept]="core protocols trace sim check graph causality catalogue"
  [scenario]="core protocols trace sim check catalogue"
  [cli]="core trace sim check graph plot linear causality live rpc client load desk cluster etcd catalogue accept scenario"
)
# Clocks, threads, files and randomness stay out of what must be a pure function of its inputs.
impure='chrono|ctime|thread|mutex|atomic|future|random|fstream|iostream|cstdio|unordered_map|unordered_set'

problems=0
complain() {
  echo "$1" >&2
  problems=$((problems + 1))
}

while IFS= read -r file; do
  folder=${file#src/}
  folder=${folder%%/*}
  if [ -z "${may_include[$folder]+known}" ]; then
    complain "$file: folder '$folder' has no row in tests/tidy/arrows.sh"
    continue
  fi
  while IFS= read -r included; do
    target=${included%%/*}
    [ "$target" = "$folder" ] && continue
    case " ${may_include[$folder]} " in
      *" $target "*) ;;
      *) case "$file:$target" in
           *_test.cpp:protocols | *_test.cpp:sim | *_test.cpp:trace) ;;  # tests bring their own examples
           *) complain "$file: '$folder' must not include \"$included\"" ;;
         esac ;;
    esac
  done < <(sed -n 's/^#include "\([^"]*\)".*/\1/p' "$file")
  case "$file" in
    src/core/*_test.cpp | src/protocols/*_test.cpp | src/kv/*_test.cpp) ;;
    src/core/* | src/protocols/* | src/kv/*)
      if grep -nE "^#include <($impure)>" "$file" >&2; then complain "$file: no clocks, threads, files or randomness here"; fi ;;
  esac
  case "$file" in
    *.hpp)
      grep -q '^#pragma once' "$file" || complain "$file: no #pragma once"
      head -1 "$file" | grep -q '^// ' || complain "$file: the first line says what the file is" ;;
  esac
done < <(find src -name '*.hpp' -o -name '*.cpp' | sort)

# How many broken twins an algorithm has.
twins_of() {
  sed -n "/^begin_twins($2 /,/^end_twins/p" "tests/broken/twins/$1.cmake" | grep -c '^twin(' || true
}

# Every algorithm has a row in the catalogue, a unit test and at least three broken twins; parts that algorithms
# share have a unit test.
for header in src/protocols/*/*.hpp; do
  family=$(basename "$(dirname "$header")")
  name=$(basename "$header" .hpp)
  [ "$name" = spec ] && continue
  [ -f "src/protocols/$family/${name}_test.cpp" ] || complain "$header: no unit test beside it"
  grep -qE '^static_assert\((Protocol|Program)<' "$header" || continue
  [ -f "src/catalogue/$family/$name.cpp" ] || complain "$header: no row in src/catalogue/$family"
  [ "$(twins_of "$family" "$name")" -ge 3 ] || complain "$header: fewer than three broken twins in tests/broken/twins"
done

[ "$problems" = 0 ] && echo "the arrows are true"
