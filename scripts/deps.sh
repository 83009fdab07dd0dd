#!/usr/bin/env bash
# Installs the Debian packages that are missing for: build, test, fuzz or bench.
set -euo pipefail
packages="g++ cmake ninja-build ccache libboost1.81-dev libfmt-dev libcli11-dev nlohmann-json3-dev libssl-dev
  libnghttp2-dev libtomlplusplus-dev libprotobuf-dev protobuf-compiler pkg-config"
case "${1:-build}" in
  build) ;;
  test) packages="$packages libgtest-dev libgmock-dev librapidcheck-dev clang-format git libgrpc++-dev protobuf-compiler-grpc
    etcd-server etcd-client openssl curl faketime python3 python3-etcd3" ;;
  fuzz) packages="$packages clang-19 libclang-rt-19-dev" ;;
  bench) packages="$packages libns3-dev spin python3 libgrpc++-dev protobuf-compiler-grpc etcd-server etcd-client" ;;
  *) echo "deps.sh: build, test, fuzz or bench" >&2; exit 2 ;;
esac
missing=""
for package in $packages; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $package"
done
[ -z "$missing" ] && exit 0
if [ "$(id -u)" = 0 ]; then
  sudo=""
elif command -v sudo >/dev/null; then
  sudo="sudo"
else
  echo "Some packages are missing, and this needs root. Run:" >&2
  echo "  apt-get install --no-install-recommends$missing" >&2
  exit 1
fi
echo "Installing$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { $sudo apt-get update && DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
