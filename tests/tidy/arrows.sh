#!/usr/bin/env bash
# Reads every #include line under src/ and keeps the dependency arrows true. A folder may include itself
# and what its row lists; unit tests may also include what they test with.
set -euo pipefail

declare -A may_include=(
  [core]=""
  [protocols]="core"
  [trace]="core"
  [sim]="core trace"
  [catalogue]="core protocols trace sim"
  [accept]="core protocols trace sim catalogue"
  [cli]="core trace sim catalogue accept"
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
    src/core/*_test.cpp | src/protocols/*_test.cpp) ;;
    src/core/* | src/protocols/*)
      if grep -nE "^#include <($impure)>" "$file" >&2; then complain "$file: no clocks, threads, files or randomness here"; fi ;;
  esac
  case "$file" in
    *.hpp)
      grep -q '^#pragma once' "$file" || complain "$file: no #pragma once"
      head -1 "$file" | grep -q '^// ' || complain "$file: the first line says what the file is" ;;
  esac
done < <(find src -name '*.hpp' -o -name '*.cpp' | sort)

# Every algorithm has a row in the catalogue, a unit test and broken twins.
for header in src/protocols/mutex/*.hpp; do
  name=$(basename "$header" .hpp)
  case "$name" in spec | voting_sets) continue ;; esac
  [ -f "src/catalogue/mutex/$name.cpp" ] || complain "$header: no row in src/catalogue/mutex"
  [ -f "src/protocols/mutex/${name}_test.cpp" ] || complain "$header: no unit test beside it"
  grep -q "begin_twins($name " tests/broken/twins.cmake || complain "$header: no broken twins"
done

[ "$problems" = 0 ] && echo "the arrows are true"
