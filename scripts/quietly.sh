#!/usr/bin/env bash
# Says what it does, and nothing more unless it fails: quietly.sh "Building" command …
set -u
echo "$1"
shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! "$@" >"$log" 2>&1; then
  cat "$log"
  exit 1
fi
