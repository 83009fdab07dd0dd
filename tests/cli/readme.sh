#!/usr/bin/env bash
# Runs every command of the README that calls the program, as it stands there.
set -euo pipefail
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
root=$PWD
mkdir -p "$work/build/release"
ln -s "$(realpath "$CONCLAVE")" "$work/build/release/conclave"
ln -s "$root/tests" "$work/tests"
ln -s "$root/examples" "$work/examples"
cd "$work"
count=0
while IFS= read -r command; do
  echo "\$ $command"
  count=$((count + 1))
  case "$command" in
    *"# stays up"*)
      bash -c "exec $command" >"stays$count" 2>&1 &
      continue ;;
  esac
  status=0
  bash -c "$command" >out 2>&1 || status=$?
  # Showing a violation ends with status 1, and the README says so on the same line.
  wanted=0
  case "$command" in *"# exits 1"*) wanted=1 ;; esac
  if [ "$status" != "$wanted" ]; then
    cat out
    echo "status $status instead of $wanted" >&2
    exit 1
  fi
done < <(sed -n 's/^    \(build\/release\/conclave .*\)$/\1/p' "$root/README.md")
[ "$count" -ge 5 ]
echo "$count commands"
