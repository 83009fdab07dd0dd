#!/usr/bin/env bash
# Makes, in the directory $1, an authority, certificates of a server at localhost and of a client called alice,
# and one of another authority.
set -euo pipefail
cd "$1"
authority() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$1" \
    -keyout "$1.key" -out "$1.pem"
}
certificate() {  # name, authority, subject alternative names
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$1" -keyout "$1.key" -out "$1.csr"
  printf 'subjectAltName=%s\n' "$3" >"$1.ext"
  openssl x509 -req -days 2 -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -extfile "$1.ext" -out "$1.pem"
}
authority authority
authority stranger
certificate server authority DNS:localhost,IP:127.0.0.1
certificate alice authority DNS:alice
certificate mallory stranger DNS:mallory
