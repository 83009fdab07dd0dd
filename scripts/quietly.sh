#!/usr/bin/env bash
# Says what it does and how far it is, and nothing more unless it fails: quietly.sh "Building" command …
# On a terminal one line counts; elsewhere a line comes every 15 seconds.
set -u
what=$1
shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT
begin=$SECONDS
if [ -t 1 ]; then terminal=1; every=1; else terminal=0; every=15; fi

# What ninja counts: "[17/305] …", the last line that has it.
progress() {
  local count
  count=$(grep -ao '^\[[0-9]*/[0-9]*\]' "$log" | tail -n 1 | tr -d '[]')
  [ -n "$count" ] && printf ', step %s of %s' "${count%/*}" "${count#*/}"
}

echo "$what"
"$@" >"$log" 2>&1 </dev/null &
command=$!
trap 'kill "$command" 2>/dev/null; wait "$command"; exit 130' INT TERM
next=$((begin + every))
while kill -0 "$command" 2>/dev/null; do
  sleep 0.2
  [ "$SECONDS" -lt "$next" ] && continue
  next=$((SECONDS + every))
  line="  $((SECONDS - begin)) s$(progress)"
  if [ "$terminal" = 1 ]; then printf '\r%s\033[K' "$line"; else echo "$line"; fi
done
[ "$terminal" = 1 ] && printf '\r\033[K'
wait "$command"
status=$?
[ "$status" = 0 ] && exit 0
cat "$log"
exit 1
