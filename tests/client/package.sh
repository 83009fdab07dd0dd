#!/usr/bin/env bash
# Installs the client, builds the example against what was installed, and runs it against a real etcd.
# Usage: package.sh BUILD_DIRECTORY
set -euo pipefail
source=$(pwd)
work=$(mktemp -d)
etcd=""
cleanup() {
  if [ -n "$etcd" ]; then
    kill -9 "$etcd" 2>/dev/null || true
    wait "$etcd" 2>/dev/null || true
  fi
  rm -rf "$work"
}
trap cleanup EXIT
fail() {
  echo "package: $1" >&2
  exit 1
}

cmake --install "$1" --component client --prefix "$work/prefix" >"$work/log" 2>&1 || { cat "$work/log"; fail "cannot install"; }
# Who uses the library sees none of what it is made of.
[ "$(find "$work/prefix/include" -type f | wc -l)" = 1 ] || fail "more headers than client.hpp"
if grep -nE 'boost|google|nghttp2|asio' "$work/prefix/include/conclave/client.hpp"; then fail "client.hpp shows its insides"; fi
if grep -rn "$source" "$work/prefix/lib"/*/cmake "$work/prefix/lib"/cmake 2>/dev/null; then fail "the package points into the source tree"; fi

launcher=""
if command -v ccache >/dev/null; then launcher=-DCMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
{ cmake -S examples/lock-and-elect -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" $launcher \
    -DCMAKE_CXX_FLAGS="${EXAMPLE_FLAGS:-}" && cmake --build "$work/build"; } >"$work/log" 2>&1 ||
  { cat "$work/log"; fail "the example cannot be built"; }

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
client=127.0.0.1:$(free_port)
peer=http://127.0.0.1:$(free_port)
etcd --data-dir "$work/data" --listen-client-urls "http://$client" --advertise-client-urls "http://$client" \
  --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "default=$peer" >"$work/etcd.log" 2>&1 &
etcd=$!
for attempt in $(seq 5); do
  status=0
  timeout 60 "$work/build/lock-and-elect" "$client" >"$work/out" 2>"$work/err" || status=$?
  [ "$status" = 0 ] && break
  [ "$attempt" = 5 ] && { cat "$work/err"; fail "the example ended with $status"; }
done
[ "$(grep -c '^page [123], fence [0-9]*$' "$work/out")" = 6 ] || { cat "$work/out"; fail "six pages were to be printed"; }
[ "$(grep '^page 1' "$work/out" | sort -t' ' -k4 -n -u | wc -l)" = 2 ] || fail "two holds have two fences"
grep -q '^leader: 10.0.0.7:8080$' "$work/out" || { cat "$work/out"; fail "no leader"; }
echo "an installed client builds and runs"
