#!/usr/bin/env bash
# Every test that docs/promises.md names exists: `file: name; name` in backquotes, each name as it stands in the file.
set -euo pipefail
page=docs/promises.md
problems=0
complain() {
  echo "$page: $1" >&2
  problems=$((problems + 1))
}

# Names may go on in the next pair of backquotes: after a semicolon.
named=$(tr '\n' ' ' <"$page" | sed -E 's/;` +`/; /g' | grep -oE '`(src|tests)/[^` :]+: [^`]+`' | tr -d '`')
count=0
while IFS= read -r line; do
  file=${line%%: *}
  [ -f "$file" ] || {
    complain "there is no $file"
    continue
  }
  IFS=';' read -ra names <<<"${line#*: }"
  for name in "${names[@]}"; do
    name=$(sed -E 's/^ +| +$//g' <<<"$name")
    count=$((count + 1))
    grep -qF -- "$name" "$file" || complain "there is no \"$name\" in $file"
  done
done <<<"$named"

# Between the assumptions and what is not promised, nothing is said without a test.
without=$(awk '/^## Durability/ {on = 1} /^## What is not promised/ {on = 0; check()} !on {next}
  function check() { if (claim != "" && !tried) print claim; claim = ""; tried = 0 }
  /^- / || /^## / {check()} /^- / {claim = $0} /`(src|tests)\/[^`]+: /{tried = 1}' "$page")
[ -z "$without" ] || complain "nothing tries: $without"

[ "$problems" = 0 ] && echo "$count tests are named, and all are there"
