#!/usr/bin/env bash
# Fails with clang-tidy's findings in our sources (.clang-tidy says which checks). Reads the batches of a configured build directory, so that
# headers are read once for a dozen sources. Usage: cmake/check_tidy.sh BUILD_DIRECTORY [JOBS]
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
jobs=${2:-$(nproc)}
find "$build" -path '*/Unity/unity_*_cxx.cxx' -not -path '*/tests/*' -print0 | sort -z |
  xargs -0 -n 1 -P "$jobs" clang-tidy-16 -p "$build" --quiet --extra-arg=-Wno-unknown-warning-option
