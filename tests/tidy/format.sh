#!/usr/bin/env bash
# Fails if clang-format would change anything; `make format` mends it.
set -euo pipefail
find src include examples tests bench -name '*.hpp' -o -name '*.cpp' | sort | xargs clang-format --dry-run --Werror
